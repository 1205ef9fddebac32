import type { Trouble } from '../checkpoint.ts'
import type { Failure } from '../failure.ts'

interface Backoff {
  readonly firstMs: number
  readonly mostMs: number
}

/** Passing failures are tried again soon; what will fail the same way again, and what a person must fix, slowly. */
const backoffs: Record<Failure['kind'], Backoff> = {
  retry: { firstMs: 2_000, mostMs: 60_000 },
  wait: { firstMs: 1_000, mostMs: 60_000 },
  refuse: { firstMs: 30_000, mostMs: 3_600_000 },
  stop: { firstMs: 15_000, mostMs: 300_000 },
  cancelled: { firstMs: 0, mostMs: 0 },
}

/** Trouble with the listing as a whole lasts until a scan is complete; any other one until a page went through. */
export function isListingTrouble({ code }: Pick<Trouble, 'code'>): boolean {
  return code === 'scan_guarded' || code === 'cursor_expired' || code === 'page_too_large'
}

/**
 * The stream's trouble after one more failure: exponential back-off with jitter, or the time that it was told.
 * `notBeforeMs` is that time by the clock of `nowMs`.
 */
export function troubleAfter(
  before: Trouble | undefined,
  failure: Failure,
  at: { readonly nowMs: number; readonly notBeforeMs?: number | undefined },
  random: () => number,
): Trouble {
  const { kind, code, message } = failure
  const { nowMs, notBeforeMs = 0 } = at
  const same = [before, before?.under].find((trouble) => trouble?.code === code)
  const listing = before !== undefined && isListingTrouble(before) ? before : before?.under
  const count = (same?.count ?? 0) + 1
  const { firstMs, mostMs } = backoffs[kind]
  // A destination that names a time is taken at its word: what grows on top would hold a stream up after the pause. One that
  // names hardly any is not.
  const isNamed = kind === 'wait' && notBeforeMs - nowMs > firstMs
  const fullMs = isNamed ? firstMs : Math.min(mostMs, firstMs * 2 ** Math.min(count - 1, 30))
  return {
    kind,
    code,
    message,
    count,
    sinceMs: same?.sinceMs ?? nowMs,
    atMs: nowMs,
    // Half of it is fixed, so that the pace is kept; half is random, so that streams do not march in step.
    retryAtMs: Math.max(nowMs + fullMs / 2 + (random() * fullMs) / 2, notBeforeMs),
    ...(listing !== undefined && !isListingTrouble(failure) && { under: underOf(listing) }),
  }
}

/** The trouble after a page that went through: what passes is over, and what stood before it stands again. */
export function troubleAfterPage(before: Trouble | undefined): Trouble | undefined {
  if (before === undefined || isListingTrouble(before)) return before
  const { under, ...passed } = before
  return under === undefined ? undefined : { ...passed, ...under }
}

function underOf({
  kind,
  code,
  message,
  count,
  sinceMs,
}: NonNullable<Trouble['under']>): NonNullable<Trouble['under']> {
  return { kind, code, message, count, sinceMs }
}
