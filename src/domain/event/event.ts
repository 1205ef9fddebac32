import type { JsonObject } from '../text/json.ts'

/** Undefined where all members are. */
type Some<T> = { readonly [Key in keyof T]?: T[Key] | undefined } | undefined

/**
 * One normalised log entry, already redacted. A missing value is undefined or an absent member, never an empty string or null; only
 * `other`, `labels`, `log` and `raw` keep such values as received.
 *
 * Read it member by member and never spread it: members other than identity and zone may be computed on access.
 */
export interface Event {
  /** The entry's `logId`, its own id (see `hasOwnId`), or `sha256:<hex>` of the whole entry where it has no `logId`. */
  readonly id: string
  /**
   * True where the listing has another entry with the same `logId` and time and other content, on the same page or at
   * the end of the page before. Both are events then, and each has an id of its own: `<logId>~<hash of the entry>`.
   */
  readonly hasOwnId?: boolean | undefined
  /**
   * The fingerprint under the other form of the id: without the hash for an event with an own id, with it for others.
   * Absent where the entry as received is not known. Costs as much as parsing the entry.
   */
  readonly otherFingerprint?: (() => bigint) | undefined
  /** Event time in UTC, ISO 8601 with 3, 6 or 9 fractional digits. Absent when the entry has no usable time. */
  readonly time?: string | undefined
  /** The same instant in ms since the epoch, for arithmetic. */
  readonly timeMs?: number | undefined
  /** First 8 bytes of a cryptographic hash of id and time, taken before redaction. */
  readonly fingerprint: bigint
  readonly zone: { readonly id: number; readonly name: string }
  readonly action?: string | undefined
  readonly severity?: string | undefined
  readonly rule?: Some<{ id: string; group: string; message: string }>
  readonly request?: Some<{ id: string; method: string; url: string; userAgent: string }>
  readonly response?: { readonly status: number } | undefined
  readonly client?: Some<{
    /** As received: may be masked (`1.2.3.*`). */
    address: string
    /** Only where the address is a whole IP address. */
    ip: string
    asn: number
    country: string
  }>
  readonly pop?: string | undefined
  readonly match?: Some<{ operator: string; value: string }>
  /** What no other member carries: unknown members of the entry, a timestamp that is no time, labels that are no object. */
  readonly other?: JsonObject | undefined
  readonly labels: JsonObject
  /** Always an object; text that does not decode to an object is in its member `text`. */
  readonly log: JsonObject
  /** The entry as received, redacted. Computed on call. */
  readonly raw: () => JsonObject
}

/** Two events with the same id and time are the same event. */
export interface Identity {
  readonly id: string
  readonly time?: string | undefined
}

/** What a line in a file, or a dead letter, holds of its event: enough to rebuild the event. */
export interface KeptEvent extends Identity {
  readonly zone: number
  /** What to rebuild it from, redacted: the entry as received, or the decoded `labels` and `log`, and `other`. */
  readonly of: { readonly raw: JsonObject } | KeptParts
}

interface KeptParts {
  readonly labels: JsonObject
  readonly log: JsonObject
  readonly other?: JsonObject | undefined
}
