/**
 * Failures are named by what to do next:
 * - `retry`: may work if asked again; back off with jitter.
 * - `wait`: the destination named a time (`retryAt`); never try earlier.
 * - `refuse`: the same request will always fail; count it, report it, go on elsewhere.
 * - `stop`: a person must act (key, configuration, disk); one clear line, slow re-checks.
 * - `cancelled`: stop, abort or lost ownership; unwind quietly and save nothing new.
 */
export type FailureKind = 'retry' | 'wait' | 'refuse' | 'stop' | 'cancelled'

/** Stable names, safe as log fields. Nobody decides by a message. */
export const failureCodes = [
  // the API
  'window_closed', // the API says that the day is outside its window; `serverDate` tells its clock
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
  'no_store', // nothing was ever kept there, and none was to be made
  'fence_lost', // another pump took the stream over, or the store forgot a commit
  'held', // another live process holds the stream
  'index_dropped', // which events the stream has delivered is no longer known
  'dead_letters_full',
  // schedules
  'crashed', // the processes that worked on the stream died, one after the other
  'gave_way', // a backfill ended because live streams of its account wait
  'cancelled',
] as const
export type FailureCode = (typeof failureCodes)[number]

export interface FailureDetails {
  readonly cause?: unknown
  /** Not earlier than this instant, ms since the epoch. */
  readonly retryAt?: number
  /** The clock of the destination at its answer, ms since the epoch. */
  readonly serverDate?: number
  /** The vendor's own error key, verbatim. */
  readonly errorKey?: string
  /** What helps a support case: the destination's request id. */
  readonly requestId?: string
}

/** Every expected error. Any other throw is a bug: it fails the pump loudly and never moves a checkpoint. */
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

/** A backfill ends, so that it holds no place while it waits. */
export function gaveWay(account: string): Failure {
  return new Failure('cancelled', 'gave_way', `live streams of account ${account} come first`)
}

/** True for a Failure of that code. */
export function isFailure(error: unknown, code?: FailureCode): error is Failure {
  return error instanceof Failure && (code === undefined || error.code === code)
}

/** One readable line for any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
