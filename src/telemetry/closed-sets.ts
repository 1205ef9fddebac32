import type { RefusalReason } from '../domain/delivery.ts'
import type { FailureCode } from '../domain/failure.ts'
import type { Guard } from '../domain/happening.ts'

/** The members of a union, in order; the compiler refuses a list that misses one. */
function every<T extends string>(members: Record<T, true>): readonly T[] {
  return Object.keys(members) as T[]
}

export const refusalReasons = every<RefusalReason>({ refused: true, too_large: true, unmappable: true })

export const guards = every<Guard>({
  cursor_repeated: true,
  cursor_cycle: true,
  empty_pages: true,
  cursor_missing: true,
  too_many_pages: true,
  page_too_large: true,
})

export const failureCodes = every<FailureCode>({
  window_closed: true,
  cursor_expired: true,
  sweep_guarded: true,
  unauthorised: true,
  zone_gone: true,
  page_too_large: true,
  bad_body: true,
  rejected: true,
  throttled: true,
  timeout: true,
  network: true,
  tls: true,
  server_error: true,
  sink_refuses: true,
  sink_gone: true,
  disk_full: true,
  unwritable: true,
  store_unavailable: true,
  store_refuses: true,
  no_store: true,
  fence_lost: true,
  held: true,
  index_dropped: true,
  dead_letters_full: true,
  cancelled: true,
})

/** What is asked of the API; a name outside the list counts as `other`. */
export const operations = ['event_logs', 'rate_limit', 'upload_scanning', 'volumes', 'other'] as const
