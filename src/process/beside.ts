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
  const { store, leads } = backend
  const over = { clock, telemetry, store, leads }
  const messenger = createMessenger(clock, version)
  const running: Promise<void>[] = []

  if (metrics.uploadScanning !== undefined || metrics.volumes !== undefined) {
    const targets = targetsOf(metrics, () => settings().zones)
    const read = ({ of, account }: Target, signal: AbortSignal) =>
      readFigures(reading.clientOf(account), of, signal)
    running.push(keepFigures({ ...over, targets, read }, signal))
  }
  if (notify.length > 0) {
    const places = new Map(notify.map((place) => [place.name, place]))
    const fullDisks = watchDisks(config, clock)
    const all = async () => [...(await fullDisks()), ...(await problems())]
    const post = (name: string, notice: Notice, signal: AbortSignal) =>
      messenger.tell(places.get(name)!, notice, store.id, signal)
    running.push(keepNotified({ ...over, problems: all, places: [...places.keys()], post }, signal))
  }
  if (heartbeat !== undefined) {
    const everyMs = heartbeat.everyMinutes * 60_000
    const send = (reasons: readonly string[], signal: AbortSignal) =>
      messenger.beat(heartbeat.url, reasons, signal)
    running.push(keepBeating({ ...over, everyMs, notReady, problems, send }, signal))
  }
  await Promise.all(running)
  await messenger.close()
}
