import type { Trouble } from '../checkpoint.ts'
import type { Failure } from '../failure.ts'

interface Backoff {
  readonly firstMs: number
  readonly mostMs: number
}

/** Transient failures are retried soon; failures that will repeat, and those that a person must fix, slowly. */
const backoffs: Record<Failure['kind'], Backoff> = {
  retry: { firstMs: 2_000, mostMs: 60_000 },
  wait: { firstMs: 1_000, mostMs: 60_000 },
  refuse: { firstMs: 30_000, mostMs: 3_600_000 },
  stop: { firstMs: 15_000, mostMs: 300_000 },
  cancelled: { firstMs: 0, mostMs: 0 },
}

/** Trouble with the listing as a whole lasts until a scan is complete; any other trouble until a page is committed. */
export function isListingTrouble({ code }: Pick<Trouble, 'code'>): boolean {
  return code === 'scan_guarded' || code === 'cursor_expired' || code === 'page_too_large'
}

/**
 * The stream's trouble after one more failure: exponential back-off with jitter, and no retry before the time that the
 * destination named (`notBeforeMs`, by the clock of `nowMs`).
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
  // A time that the destination names replaces the growing back-off, which would delay the stream beyond the pause. A
  // pause of at most `firstMs` does not.
  const isNamed = kind === 'wait' && notBeforeMs - nowMs > firstMs
  const fullMs = isNamed ? firstMs : Math.min(mostMs, firstMs * 2 ** Math.min(count - 1, 30))
  return {
    kind,
    code,
    message,
    count,
    sinceMs: same?.sinceMs ?? nowMs,
    atMs: nowMs,
    // Half is fixed, to keep a minimum delay; half is random, so that streams do not retry all at once.
    retryAtMs: Math.max(nowMs + fullMs / 2 + (random() * fullMs) / 2, notBeforeMs),
    ...(listing !== undefined && !isListingTrouble(failure) && { under: underOf(listing) }),
  }
}

/** The trouble after a committed page: a transient one ends, and the listing's trouble before it is in force again. */
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
