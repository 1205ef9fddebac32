import type { App } from '../../domain/figures.ts'
import { cancelled, isFailure, type Failure } from '../../domain/failure.ts'
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

interface Target {
  readonly everyMs: number
  /** By the monotonic clock. */
  dueAtMs: number
  failures: number
  /** Reads the figures and emits them. Throws Failure. */
  read(signal: AbortSignal): Promise<void>
  failed(failure: Failure): void
}

/** Reads figures for metrics, one zone or application after the other; after a failure sooner than usual. */
export function createFiguresLoop(deps: FiguresDeps): FiguresLoop {
  const { clock, telemetry } = deps
  const currentTargets = targetsOf(deps)
  let targets = currentTargets()
  const abort = new AbortController()
  let isReader = false
  let running: Promise<void> | undefined

  async function turn(): Promise<void> {
    targets = currentTargets()
    const before = isReader
    // While it is not known, the process that read goes on.
    isReader = await deps.mayRead().catch(() => before)
    if (before && !isReader) {
      telemetry.emit({ name: 'FiguresHandedOver' })
      for (const target of targets) target.dueAtMs = clock.monotonic()
    }
    for (const target of targets) {
      if (!isReader || abort.signal.aborted) return
      if (target.dueAtMs <= clock.monotonic()) await readOne(target, deps, abort.signal)
    }
  }

  function untilNextMs(): number {
    const nowMs = clock.monotonic()
    const nextMs = isReader ? Math.min(...targets.map(({ dueAtMs }) => dueAtMs - nowMs)) : askEveryMs
    return Math.max(1, Math.min(askEveryMs, nextMs))
  }

  async function loop(): Promise<void> {
    while (!abort.signal.aborted) {
      await turn().catch((error: unknown) => {
        if (!abort.signal.aborted) telemetry.emit({ name: 'UpkeepFailed', task: 'figures', error })
      })
      await clock.sleep(untilNextMs(), abort.signal).catch(() => undefined)
    }
  }

  return {
    start() {
      const isWanted = deps.uploads !== undefined || targets.length > 0
      if (isWanted && !abort.signal.aborted) running ??= loop()
    },
    async stop() {
      abort.abort(cancelled())
      await running
    },
  }
}

/** The targets at each call: zones come and go. One that stays keeps what is known of it. */
function targetsOf({ clock, telemetry, source, uploads, volumes }: FiguresDeps): () => Target[] {
  const first = { dueAtMs: -Infinity, failures: 0 }
  let known: ReadonlyMap<number, Target> = new Map()
  const zoneTarget = (zone: Zone): Target => ({
    ...first,
    everyMs: uploads!.everyMs,
    async read(signal) {
      const figures = await source.readUploads(zone, signal)
      telemetry.emit({ name: 'UploadScanningRead', zone: zone.id, figures, atMs: clock.now() })
    },
    failed: (failure) =>
      telemetry.emit({ name: 'FiguresFailed', of: { zone: zone.id }, account: zone.account, failure }),
  })
  const apps = (volumes?.apps ?? []).map((app): Target => ({
    ...first,
    everyMs: volumes!.everyMs,
    async read(signal) {
      const figures = await source.readVolumes(app, signal)
      telemetry.emit({ name: 'VolumesRead', app: app.id, figures, atMs: clock.now() })
    },
    failed: (failure) =>
      telemetry.emit({ name: 'FiguresFailed', of: { app: app.id }, account: app.account, failure }),
  }))
  return () => {
    const zones = uploads?.zones() ?? []
    known = new Map(zones.map((zone) => [zone.id, known.get(zone.id) ?? zoneTarget(zone)]))
    return [...known.values(), ...apps]
  }
}

async function readOne(target: Target, { clock }: FiguresDeps, signal: AbortSignal): Promise<void> {
  try {
    await target.read(signal)
    target.failures = 0
    target.dueAtMs = clock.monotonic() + target.everyMs
  } catch (error) {
    if (signal.aborted) return
    const backoffMs = Math.min(retry.maxMs, retry.baseMs * 2 ** Math.min(target.failures++, 10))
    target.dueAtMs = clock.monotonic() + Math.max(Math.min(target.everyMs, backoffMs), askedMs(error, clock))
    if (!isFailure(error)) throw error
    target.failed(error)
  }
}

/** How long the API asks to wait. */
function askedMs(error: unknown, clock: Clock): number {
  const retryAt = isFailure(error) ? error.details.retryAt : undefined
  return retryAt === undefined ? 0 : retryAt - clock.now()
}
