import type { Runtime } from '../assemble/runtime.ts'
import type { Shipping } from '../assemble/shipping.ts'
import { version } from '../assemble/version.ts'
import type { Config } from '../config/schema.ts'
import type { Notice, NoticedProblem } from '../domain/notices.ts'
import { createMessenger } from '../notify/post.ts'
import { readFigures } from '../shield/figures.ts'
import { keepFigures, targetsOf, type Target } from '../upkeep/figures.ts'
import { keepBeating } from '../upkeep/heartbeat.ts'
import { keepNotified } from '../upkeep/notices.ts'
import { watchDisks } from '../upkeep/sink-space.ts'
import type { Backend } from './backend.ts'

export interface BesideOptions {
  readonly runtime: Runtime
  readonly backend: Backend
  /** Why the process is not ready, for the heartbeat; none where it is. */
  readonly notReady: () => Promise<readonly string[]>
}

/** Runs beside the schedule what the configuration asks for, until the signal aborts: figures, notices, heartbeat. */
export async function runBeside(
  config: Config,
  { reading, settings }: Shipping,
  problems: () => Promise<readonly NoticedProblem[]>,
  { runtime, backend, notReady }: BesideOptions,
  signal: AbortSignal,
): Promise<void> {
  const { metrics, notify, heartbeat } = config
  const { clock, telemetry } = runtime
  const { store, leads: mayTell } = backend
  const messenger = createMessenger(clock, version)

  async function readWantedFigures(): Promise<void> {
    if (metrics.uploadScanning === undefined && metrics.volumes === undefined) return
    const figures = {
      clock,
      telemetry,
      mayRead: backend.leads,
      targets: targetsOf(metrics, () => settings().zones),
      read: ({ of, account }: Target, signal: AbortSignal) =>
        readFigures(reading.clientOf(account), of, signal),
    }
    await keepFigures(figures, signal)
  }

  async function tellPlaces(): Promise<void> {
    if (notify.length === 0) return
    const fullDisks = watchDisks(config, clock)
    const notices = {
      clock,
      telemetry,
      store,
      mayTell,
      problems: async () => [...(await fullDisks()), ...(await problems())],
      places: notify.map(({ name }) => name),
      post: (name: string, notice: Notice, signal: AbortSignal) =>
        messenger.tell(
          notify.find((place) => place.name === name)!,
          notice,
          store.id,
          signal,
        ),
    }
    await keepNotified(notices, signal)
  }

  async function beat(): Promise<void> {
    if (heartbeat === undefined) return
    const { url, everyMinutes } = heartbeat
    const send = (reasons: readonly string[], signal: AbortSignal) => messenger.beat(url, reasons, signal)
    const beating = { clock, telemetry, everyMs: everyMinutes * 60_000, notReady, mayTell, send }
    await keepBeating(beating, signal)
  }

  try {
    await Promise.all([readWantedFigures(), tellPlaces(), beat()])
  } finally {
    await messenger.close()
  }
}
