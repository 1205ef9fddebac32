/**
 * The kind of a failure says what the caller does next:
 * - `retry`: may succeed later; back off with jitter.
 * - `wait`: the destination named a time (`retryAt`); never retry earlier.
 * - `refuse`: the same request will always fail; count it, report it, continue with other work.
 * - `stop`: a person must act (key, configuration, disk); log one clear line, re-check slowly.
 * - `cancelled`: stop, abort or lost ownership; end quietly and write nothing new.
 */
export type FailureKind = 'retry' | 'wait' | 'refuse' | 'stop' | 'cancelled'

/** Stable names, safe as log fields. Code decides by these, never by a message. */
export const failureCodes = [
  // the API
  'window_closed', // the API says that the day is outside its window; `serverDate` is its clock
  'cursor_expired', // a request with a cursor was refused although zone, day and key are good
  'scan_guarded', // a scan ended incomplete at a guard
  'unauthorised',
  'zone_gone',
  'page_too_large',
  'bad_body',
  'rejected',
  'throttled',
  // any destination
  'timeout',
  'network',
  'tls',
  'server_error',
  // sinks
  'sink_refuses', // an error of the sink as a whole: credentials, address, every event refused
  'sink_gone', // the reader of stdout went away
  'disk_full',
  'unwritable',
  // stores
  'store_unavailable',
  'store_refuses', // full, read-only, newer schema
  'no_store', // no store exists there, and the caller did not ask to create one
  'fence_lost', // another pump took the stream over, or the store forgot a commit
  'held', // another live process holds the stream
  'index_dropped', // the deduplication index was dropped: what the stream has delivered is unknown
  'dead_letters_full',
  // schedules
  'crashed', // the processes that worked on the stream died, one after the other
  'gave_way', // a backfill ended because live streams of its account wait
  'no_room', // no memory for a further page of a load
  'cancelled',
] as const
export type FailureCode = (typeof failureCodes)[number]

export interface FailureDetails {
  readonly cause?: unknown
  /** Not earlier than this instant, ms since the epoch. */
  readonly retryAt?: number | undefined
  /** The clock of the destination at its answer, ms since the epoch. */
  readonly serverDate?: number | undefined
  /** Answers with the same one may have come over one connection, from one server. */
  readonly connection?: object | undefined
  /** The vendor's own error key, verbatim. */
  readonly errorKey?: string
  /** The destination's request id, for support cases. */
  readonly requestId?: string | undefined
}

/** Every expected error. Any other thrown value is a bug: it fails the pump and never moves a checkpoint. */
export class Failure extends Error {
  readonly kind: FailureKind
  readonly code: FailureCode
  readonly details: FailureDetails

  constructor(kind: FailureKind, code: FailureCode, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'Failure'
    this.kind = kind
    this.code = code
    this.details = details
  }
}

export function cancelled(cause?: unknown): Failure {
  return new Failure('cancelled', 'cancelled', 'stopped before it was done', { cause })
}

/** Ends a pump that builds on what the store no longer holds. */
export function fenceLost(): Failure {
  const why = 'another process took over the stream, or the state lost a commit'
  return new Failure('cancelled', 'fence_lost', why)
}

/** Ends a load: its next page would have to wait for memory. */
export function noRoom(): Failure {
  return new Failure('cancelled', 'no_room', 'no memory for a further page')
}

/** True for a Failure with one of these codes, or with any code when none is given. */
export function isFailure(error: unknown, ...codes: readonly FailureCode[]): error is Failure {
  return error instanceof Failure && (codes.length === 0 || codes.includes(error.code))
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** `sink siem (https://siem.example) answered 503` becomes `https://siem.example answered 503`. */
export function withoutSink(message: string, sink: string): string {
  const named = `sink ${sink}`
  if (message.startsWith(`${named}: `)) return message.slice(named.length + 2)
  const end = message.startsWith(`${named} (`) ? message.indexOf(')') : -1
  return end === -1 ? message : message.slice(named.length + 2, end) + message.slice(end + 1)
}
