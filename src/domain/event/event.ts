/** JSON values as they came over the wire. `__proto__` and the like are plain data in them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/**
 * One normalised log entry, already redacted. Absent means absent: no empty string and no null stands for it, except
 * inside `labels`, `log` and `raw`, which keep what was received.
 *
 * To be read member by member, never spread: all but identity and zone may be worked out when asked for.
 */
export interface Event {
  /** The entry's `logId`, or `sha256:<hex>` of the whole entry where it has none. */
  readonly id: string
  /** Event time in UTC, ISO 8601 with 3, 6 or 9 fractional digits. Absent when the entry has no usable time. */
  readonly time?: string
  /** The same instant in ms since the epoch, for arithmetic. */
  readonly timeMs?: number
  /** First 8 bytes of a cryptographic hash of id and time, taken before redaction. */
  readonly fingerprint: bigint
  readonly zone: { readonly id: number; readonly name: string }
  readonly action?: string
  readonly severity?: string
  readonly rule?: { readonly id?: string; readonly group?: string; readonly message?: string }
  readonly request?: {
    readonly id?: string
    readonly method?: string
    readonly url?: string
    readonly userAgent?: string
  }
  readonly response?: { readonly status: number }
  readonly client?: {
    /** As received: may be masked (`1.2.3.*`). */
    readonly address?: string
    /** Only where the address is a whole IP address. */
    readonly ip?: string
    readonly asn?: number
    readonly country?: string
  }
  readonly pop?: string
  readonly match?: { readonly operator?: string; readonly value?: string }
  readonly labels: JsonObject
  /** Always an object; what did not decode to one stands in `text`. */
  readonly log: JsonObject
  /** The entry in the form it was received, redacted. Computed when asked for. */
  readonly raw: () => JsonObject
}

/** What makes an event the same event: its id and its time. */
export interface Identity {
  readonly id: string
  readonly time?: string
}
