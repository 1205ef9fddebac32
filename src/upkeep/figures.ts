import type { Config } from '../config/schema.ts'
import type { Zone } from '../domain/stream.ts'
import type { Figure, FiguresOf } from '../domain/internal-event.ts'
import { isFailure } from '../domain/failure.ts'
import { repeat } from '../domain/promises.ts'
import type { Clock, Telemetry } from '../ports/process.ts'

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
  /** Whether this process of several reads. Rejects where that is not known at the moment. */
  readonly leads: () => Promise<boolean>
  /** Zones come and go; one that stays keeps what is known of it. */
  readonly targets: () => readonly Target[]
}

/** As often as processes tell each other that they live. */
const turnMs = 5_000
/** After a failed reading. */
const retryMs = 300_000

const minuteMs = 60_000

/** What the configuration asks for: upload scanning of all zones, volumes of applications. */
export function targetsOf(
  { uploadScanning, volumes }: Config['metrics'],
  zones: () => readonly Zone[],
): () => Target[] {
  const apps = (volumes?.apps ?? []).map(({ id, account }) => ({
    of: { app: id },
    account,
    everyMs: volumes!.everyMinutes * minuteMs,
  }))
  if (uploadScanning === undefined) return () => apps
  const everyMs = uploadScanning.everyMinutes * minuteMs
  return () => [...zones().map(({ id, account }) => ({ of: { zone: id }, account, everyMs })), ...apps]
}

/** Reads one zone or application after the other until the signal aborts; sooner after a failure. Never rejects. */
export async function keepFigures(
  { clock, telemetry, read, leads, targets }: FiguresDeps,
  signal: AbortSignal,
): Promise<void> {
  /** When each target is read next, by the monotonic clock. */
  const due = new Map<string, number>()
  const wereRead = new Set<string>()
  const keyOf = ({ of }: Target) => JSON.stringify(of)
  const dueAtMs = (target: Target) => due.get(keyOf(target)) ?? -Infinity
  let isReader = false

  async function readOne(target: Target): Promise<void> {
    const { of, account, everyMs } = target
    try {
      const figures = await read(target, signal)
      telemetry.emit({ name: 'FiguresRead', of, account, figures, atMs: clock.now() })
      wereRead.add(keyOf(target))
      due.set(keyOf(target), clock.monotonic() + everyMs)
    } catch (error) {
      if (signal.aborted) return
      const { retryAt = 0 } = isFailure(error) ? error.details : {}
      // At least as long as the API asks to wait.
      const waitMs = Math.max(Math.min(everyMs, retryMs), retryAt - clock.now())
      due.set(keyOf(target), clock.monotonic() + waitMs)
      if (!isFailure(error)) throw error
      telemetry.emit({
        name: 'FiguresFailed',
        of,
        account,
        failure: error,
        neverRead: !wereRead.has(keyOf(target)),
      })
    }
  }

  async function turn(): Promise<void> {
    const before = isReader
    // While it is not known, the process that read goes on.
    isReader = await leads().catch(() => before)
    if (before && !isReader) {
      telemetry.emit({ name: 'FiguresHandedOver' })
      due.clear()
      wereRead.clear()
    }
    for (const target of isReader ? targets() : [])
      if (!signal.aborted && dueAtMs(target) <= clock.monotonic()) await readOne(target)
  }

  const failed = (error: unknown) => telemetry.emit({ name: 'UpkeepFailed', task: 'figures', error })
  await repeat(turnMs, turn, { clock, failed }, signal)
}
