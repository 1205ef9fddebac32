import type { Clock } from '../ports/process.ts'

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const
type StopSignal = keyof typeof signalNumbers

/**
 * A repeat of the same signal within this time is ignored. Ctrl-C in a terminal reaches both npm and the command that
 * it runs, and npm forwards it: the command gets two signals, some milliseconds apart.
 */
const sameSignalMs = 1_000

export interface StopSignals {
  /** The process, or a substitute that emits signals. */
  readonly from: { on(name: StopSignal, callback: () => void): unknown }
  readonly clock: Pick<Clock, 'monotonic'>
  /** Ends the process at once. */
  readonly exit: (code: number) => unknown
}

/** Aborts at the first SIGINT or SIGTERM; a second one ends the process at once with 128 plus its number. */
export function abortAtSignal({ from, clock, exit }: StopSignals): AbortSignal {
  const abort = new AbortController()
  let first: { readonly name: StopSignal; readonly atMs: number } | undefined
  const received = (name: StopSignal) => {
    if (first === undefined) {
      first = { name, atMs: clock.monotonic() }
      abort.abort(name)
    } else if (name !== first.name || clock.monotonic() - first.atMs >= sameSignalMs)
      exit(128 + signalNumbers[name])
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) from.on(name, () => received(name))
  return abort.signal
}
