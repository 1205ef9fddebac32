import { cancelled } from './failure.ts'

export interface Waits {
  /** Rejects as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Calls back after `ms`, unless it is disposed of before. */
function timer(ms: number, clock: Waits, then: () => void): Disposable {
  const done = new AbortController()
  clock.sleep(ms, done.signal).then(then, () => undefined)
  // Without a reason each abort would make an error with a stack.
  return { [Symbol.dispose]: () => done.abort('the wait is over') }
}

/** The value of a promise, or `late` if it has not settled within `ms`. Rejects when the promise rejects. */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  clock: Waits,
): Promise<{ readonly value: T } | 'late'> {
  const late = Promise.withResolvers<'late'>()
  using _ = timer(ms, clock, () => late.resolve('late'))
  return await Promise.race([promise.then((value) => ({ value })), late.promise])
}

/**
 * The result of work that cannot be cancelled. Throws Failure `cancelled` once the signal aborts: at once, or after a
 * grace time in which the work may still end. The work itself goes on.
 */
export async function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  grace?: { readonly ms: number; readonly clock: Waits },
): Promise<T> {
  using timers = new DisposableStack()
  const { promise: givenUp, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(cancelled(signal.reason))
  const onAbort = () => {
    if (grace === undefined) giveUp()
    else timers.use(timer(grace.ms, grace.clock, giveUp))
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([givenUp, work])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Its signal aborts with the caller's, and with a `TimeoutError` after `ms`. The work decides what to do then. */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  clock: Waits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  using _ = timer(ms, clock, () =>
    late.abort(new DOMException(`no answer within ${ms / 1000} s`, 'TimeoutError')),
  )
  return await work(AbortSignal.any([signal, late.signal]))
}

/** Shortest pause after a step that failed, so that an unavailable store causes no busy loop. */
const failedMs = 1_000
/** After a step that resolved with false. */
const soonMs = 5_000

/** Repeats a step until the signal aborts, with a pause after each. `failed` gets its errors. Never rejects. */
export async function repeat(
  pauseMs: number,
  step: () => Promise<unknown>,
  { clock, failed }: { readonly clock: Waits; readonly failed: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let ms = pauseMs
    try {
      if ((await step()) === false) ms = soonMs
    } catch (error) {
      if (signal.aborted) return
      failed(error)
      ms = Math.max(pauseMs, failedMs)
    }
    if (ms > 0) await clock.sleep(ms, signal).catch(() => undefined)
  }
}

/** The result starts work when all work before it has settled. */
export function createInTurn() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work)
    last = next.catch(() => undefined)
    return next
  }
}

/** Work on a whole fleet is divided into steps of about this length, so that pumps and probes are not delayed. */
const stepMs = 8

export interface TurnDeps {
  readonly clock: { now(): number; monotonic(): number }
  readonly turn: () => Promise<unknown>
}

/** Call it often. The event loop turns at the first call, since other work may have held it, and every few ms. */
export function createTurns({ clock, turn }: TurnDeps): () => Promise<void> {
  let sinceMs = -Infinity
  return async () => {
    if (clock.monotonic() - sinceMs < stepMs) return
    await turn()
    sinceMs = clock.monotonic()
  }
}

/** A reading that has not ended after this long may hang: the next caller begins another one. */
const patienceMs = 15_000

/**
 * A reading that serves all who ask while it is under way, and for a while after. `freshMs` counts from its end: a slow
 * store gets one at a time, not one for each such interval.
 */
export function keepLatest<Value>(
  read: () => Promise<Value>,
  freshMs: number,
  clock: { monotonic(): number },
) {
  let held: { readonly value: Promise<Value>; untilMs: number } | undefined

  function begin(): NonNullable<typeof held> {
    const begun = { value: read(), untilMs: clock.monotonic() + patienceMs }
    const end = () => void (begun.untilMs = clock.monotonic() + freshMs)
    begun.value.then(end, end)
    return begun
  }

  /** Frees an answer that is too old to be given. */
  function dropOld(): void {
    if (held !== undefined && clock.monotonic() >= held.untilMs) held = undefined
  }

  return {
    dropOld,
    read(): Promise<Value> {
      dropOld()
      held ??= begin()
      return held.value
    },
  }
}

/** Begins none once work has thrown. Rejects with the first error. */
export async function fewAtOnce<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items]
  async function workOn(): Promise<void> {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await work(item)
      } catch (error) {
        waiting.length = 0
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, workOn))
}
