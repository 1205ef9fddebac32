import type { Figure, FiguresOf } from '../../domain/figures.ts'
import { cancelled, isFailure } from '../../domain/failure.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'

/** What is read. */
export interface Target {
  readonly of: FiguresOf
  readonly account: string
  readonly everyMs: number
}

export interface FiguresDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** Throws Failure, also for an answer that is not whole. */
  readonly read: (target: Target, signal: AbortSignal) => Promise<readonly Figure[]>
  /** Whether this process of several reads the figures. Rejects where that is not known at the moment. */
  readonly mayRead: () => Promise<boolean>
  /** Zones come and go; one that stays keeps what is known of it. */
  readonly targets: () => readonly Target[]
}

interface FiguresLoop {
  start(): void
  /** Resolves when nothing is read any more. Idempotent. */
  stop(): Promise<void>
}

/** How often it is asked whether this process reads: as often as processes tell each other that they live. */
const askEveryMs = 5_000
/** After a failed reading: doubled with each one in a row. */
const retry = { baseMs: 60_000, maxMs: 600_000 }

/** When a target is read next, by the monotonic clock. */
interface Turn {
  readonly dueAtMs: number
  readonly failures: number
}

/** Reads figures for metrics, one zone or application after the other; after a failure sooner than usual. */
export function createFiguresLoop({ clock, telemetry, read, mayRead, targets }: FiguresDeps): FiguresLoop {
  const abort = new AbortController()
  const turns = new Map<string, Turn>()
  const keyOf = ({ of }: Target) => JSON.stringify(of)
  const turnOf = (target: Target): Turn => turns.get(keyOf(target)) ?? { dueAtMs: -Infinity, failures: 0 }
  let isReader = false
  let running: Promise<void> | undefined

  async function turn(): Promise<void> {
    const before = isReader
    // While it is not known, the process that read goes on.
    isReader = await mayRead().catch(() => before)
    if (before && !isReader) {
      telemetry.emit({ name: 'FiguresHandedOver' })
      turns.clear()
    }
    for (const target of targets()) {
      if (!isReader || abort.signal.aborted) return
      if (turnOf(target).dueAtMs <= clock.monotonic()) await readOne(target)
    }
  }

  async function readOne(target: Target): Promise<void> {
    const { of, account, everyMs } = target
    try {
      const figures = await read(target, abort.signal)
      telemetry.emit({ name: 'FiguresRead', of, account, figures, atMs: clock.now() })
      turns.set(keyOf(target), { dueAtMs: clock.monotonic() + everyMs, failures: 0 })
    } catch (error) {
      if (abort.signal.aborted) return
      const { failures } = turnOf(target)
      const backoffMs = Math.min(retry.maxMs, retry.baseMs * 2 ** Math.min(failures, 10))
      const { retryAt } = isFailure(error) ? error.details : {}
      // How long the API asks to wait.
      const askedMs = retryAt === undefined ? 0 : retryAt - clock.now()
      const waitMs = Math.max(Math.min(everyMs, backoffMs), askedMs)
      turns.set(keyOf(target), { dueAtMs: clock.monotonic() + waitMs, failures: failures + 1 })
      if (!isFailure(error)) throw error
      telemetry.emit({ name: 'FiguresFailed', of, account, failure: error })
    }
  }

  async function loop(): Promise<void> {
    while (!abort.signal.aborted) {
      await turn().catch((error: unknown) => {
        if (!abort.signal.aborted) telemetry.emit({ name: 'UpkeepFailed', task: 'figures', error })
      })
      const dueInMs = targets().map((target) => turnOf(target).dueAtMs - clock.monotonic())
      const nextMs = Math.min(askEveryMs, ...(isReader ? dueInMs : []))
      await clock.sleep(Math.max(1, nextMs), abort.signal).catch(() => undefined)
    }
  }

  return {
    start() {
      if (!abort.signal.aborted) running ??= loop()
    },
    async stop() {
      abort.abort(cancelled())
      await running
    },
  }
}
