import type { App, FiguresOf } from '../../domain/figures.ts'
import { cancelled, isFailure } from '../../domain/failure.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'
import type { FigureSource } from '../../ports/delivery.ts'

export interface FiguresDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly source: FigureSource
  /** Whether this process of several reads the figures. Rejects where that is not known at the moment. */
  readonly mayRead: () => Promise<boolean>
  /** Absent: not wanted. */
  readonly uploads?: { readonly zones: () => readonly Zone[]; readonly everyMs: number }
  readonly volumes?: { readonly apps: readonly App[]; readonly everyMs: number }
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

/** What is read, and when next. */
interface Target {
  readonly of: FiguresOf
  readonly account: string
  readonly everyMs: number
  /** By the monotonic clock. */
  dueAtMs: number
  failures: number
  read(signal: AbortSignal): Promise<InternalEvent>
}

/** Reads figures for metrics, one zone or application after the other; after a failure sooner than usual. */
export function createFiguresLoop(deps: FiguresDeps): FiguresLoop {
  const { clock, telemetry, source, uploads, volumes } = deps
  const abort = new AbortController()
  const first = { dueAtMs: -Infinity, failures: 0 }
  const apps = (volumes?.apps ?? []).map((app): Target => ({
    ...first,
    of: { app: app.id },
    account: app.account,
    everyMs: volumes!.everyMs,
    async read(signal) {
      const figures = await source.readVolumes(app, signal)
      return { name: 'VolumesRead', app: app.id, figures, atMs: clock.now() }
    },
  }))
  let ofZones = new Map<number, Target>()
  let isReader = false
  let running: Promise<void> | undefined

  /** Zones come and go; one that stays keeps what is known of it. */
  function targets(): readonly Target[] {
    const zones = uploads?.zones() ?? []
    ofZones = new Map(zones.map((zone) => [zone.id, ofZones.get(zone.id) ?? zoneTarget(zone)]))
    return [...ofZones.values(), ...apps]
  }

  function zoneTarget(zone: Zone): Target {
    return {
      ...first,
      of: { zone: zone.id },
      account: zone.account,
      everyMs: uploads!.everyMs,
      async read(signal) {
        const figures = await source.readUploads(zone, signal)
        return { name: 'UploadScanningRead', zone: zone.id, figures, atMs: clock.now() }
      },
    }
  }

  async function turn(): Promise<void> {
    const before = isReader
    // While it is not known, the process that read goes on.
    isReader = await deps.mayRead().catch(() => before)
    if (before && !isReader) {
      telemetry.emit({ name: 'FiguresHandedOver' })
      for (const target of targets()) target.dueAtMs = clock.monotonic()
    }
    for (const target of targets()) {
      if (!isReader || abort.signal.aborted) return
      if (target.dueAtMs <= clock.monotonic()) await readOne(target)
    }
  }

  async function readOne(target: Target): Promise<void> {
    try {
      telemetry.emit(await target.read(abort.signal))
      target.failures = 0
      target.dueAtMs = clock.monotonic() + target.everyMs
    } catch (error) {
      if (abort.signal.aborted) return
      const backoffMs = Math.min(retry.maxMs, retry.baseMs * 2 ** Math.min(target.failures++, 10))
      const { retryAt } = isFailure(error) ? error.details : {}
      // How long the API asks to wait.
      const askedMs = retryAt === undefined ? 0 : retryAt - clock.now()
      target.dueAtMs = clock.monotonic() + Math.max(Math.min(target.everyMs, backoffMs), askedMs)
      if (!isFailure(error)) throw error
      const { of, account } = target
      telemetry.emit({ name: 'FiguresFailed', of, account, failure: error })
    }
  }

  async function loop(): Promise<void> {
    while (!abort.signal.aborted) {
      await turn().catch((error: unknown) => {
        if (!abort.signal.aborted) telemetry.emit({ name: 'UpkeepFailed', task: 'figures', error })
      })
      const dueInMs = targets().map(({ dueAtMs }) => dueAtMs - clock.monotonic())
      const nextMs = Math.min(askEveryMs, ...(isReader ? dueInMs : []))
      await clock.sleep(Math.max(1, nextMs), abort.signal).catch(() => undefined)
    }
  }

  return {
    start() {
      const isWanted = uploads !== undefined || apps.length > 0
      if (isWanted && !abort.signal.aborted) running ??= loop()
    },
    async stop() {
      abort.abort(cancelled())
      await running
    },
  }
}
