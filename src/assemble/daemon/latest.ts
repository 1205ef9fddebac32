import type { Clock } from '../../ports/clock.ts'

/** A reading of the store that serves all who ask while it is under way, and for a while after. */
export interface Latest<Value> {
  read(): Promise<Value>
  /** Frees an answer that is too old to be given. */
  dropOld(): void
}

/** A reading that has not ended after this long may hang: the next caller begins another one. */
const patienceMs = 15_000

/** `freshMs` counts from the end of a reading: a slow store gets one at a time, not one for each such interval. */
export function keepLatest<Value>(
  read: () => Promise<Value>,
  freshMs: number,
  clock: Pick<Clock, 'monotonic'>,
): Latest<Value> {
  let held: { readonly value: Promise<Value>; untilMs: number } | undefined

  function begin(): NonNullable<typeof held> {
    const begun = { value: read(), untilMs: clock.monotonic() + patienceMs }
    const end = () => void (begun.untilMs = clock.monotonic() + freshMs)
    begun.value.then(end, end)
    return begun
  }

  const isOld = () => held === undefined || clock.monotonic() > held.untilMs
  return {
    read() {
      if (held === undefined || isOld()) held = begin()
      return held.value
    },
    dropOld() {
      if (isOld()) held = undefined
    },
  }
}
