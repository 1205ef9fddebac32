import { compareConfigs, type Comparison } from '../config/compare.ts'
import { ConfigFaults, faultLine } from '../config/faults.ts'
import type { Loaded } from '../config/load.ts'
import { messageOf, type Failure } from '../domain/failure.ts'
import { createServer, type Server } from '../server/server.ts'
import { healthOf } from '../server/health.ts'
import { awaitBackend } from './await-backend.ts'
import type { Backend, Role } from './backend.ts'
import { stateName } from './existing-store.ts'
import { knownOf, type Ground } from './ground.ts'
import { openBackend } from './open-backend.ts'
import { createEngine, type Engine } from './engine.ts'
import { readinessOf, type Readiness } from './readiness.ts'
import { version } from './version.ts'

export interface Daemon {
  readonly engine: () => Engine
  /** Opens the state, takes the schedule lock and serves HTTP; ships nothing yet. Throws Failure. */
  open(signal: AbortSignal): Promise<void>
  /** Starts shipping. */
  start(): Promise<void>
  /** Takes over a new configuration, or refuses it with all its faults and goes on with the old one. */
  reload(load: () => Loaded): Promise<void>
  /** Ends everything; what was not committed comes again at the next start. Safe twice and before `open`. */
  stop(): Promise<void>
}

export interface DaemonOptions {
  readonly ground: Ground
  readonly serve: boolean
  readonly role: Role
  readonly sinkGone: (failure: Failure) => void
}

/** `/readyz` and `/status` read the store at most this often. */
const readAgainMs = 2_000

export function createDaemon(loaded: Loaded, { ground, serve, role, sinkGone }: DaemonOptions): Daemon {
  const { clock, telemetry, metrics, logger } = ground
  let { config } = loaded
  let backend: Backend | undefined
  /** Why there is none yet. */
  let missing: Failure | undefined
  let server: Server | undefined
  let engine: Engine | undefined
  let phase: 'starting' | 'running' | 'stopping' = 'starting'
  /** False for a run that ends by itself: it ends with the configuration that it began with. */
  let isScheduled = false
  /** When each loop that must keep turning last did. */
  const turns = new Map<string, number>()
  let reloading = Promise.resolve()

  function makeEngine(): Engine {
    const turned = (loop: string) => {
      turns.set(loop, clock.monotonic())
      if (phase === 'starting') phase = 'running'
    }
    return createEngine(config, { ground, backend: backend!, turned, sinkGone })
  }

  async function readiness(): Promise<Readiness> {
    if (phase !== 'running' || engine === undefined)
      return { ready: false, reasons: [missing?.message ?? `the process is ${phase}`] }
    const now = engine
    return readinessOf(
      async () => {
        const [snapshot, planned] = await Promise.all([now.snapshot(), now.plan()])
        return { snapshot, planned }
      },
      config.server.readyLagSeconds,
      backend?.storeTrouble(),
    )
  }

  async function listen(): Promise<void> {
    const { host, port, token } = config.server
    const recent = remember(readiness, readAgainMs, clock)
    server = createServer({
      host,
      port,
      ...(token !== undefined && { token }),
      metrics,
      telemetry,
      clock,
      health: () => {
        const loops = [...turns].map(([loop, turnedAtMs]) => ({ loop, turnedAtMs }))
        return healthOf(loops, config.poll.everySeconds, clock.monotonic())
      },
      readiness: recent,
      status: async () => engine?.status() ?? { starting: true },
    })
    await server.start()
  }

  async function takeOver(load: () => Loaded): Promise<void> {
    if (phase !== 'running' || !isScheduled) return
    const before = { config, engine: engine! }
    let changes: Comparison
    let next: Engine
    try {
      const loadedAgain = load()
      changes = compareConfigs(config, loadedAgain.config)
      // State and server stay as they are until a restart.
      config = { ...loadedAgain.config, state: config.state, server: config.server }
      next = makeEngine()
    } catch (error) {
      config = before.config
      const faults = error instanceof ConfigFaults ? error.faults.map(faultLine) : [messageOf(error)]
      telemetry.emit({ name: 'ConfigRefused', faults })
      return
    }
    // What is under way ends between two pages, or comes again: nothing is lost.
    await before.engine.close().catch((error: unknown) => telemetry.emit({ name: 'TickFailed', error }))
    logger.setLevel(config.log.level)
    metrics.prepare(knownOf(config))
    engine = next
    if (phase !== 'running') return
    await engine.schedule.start()
    telemetry.emit({ name: 'ConfigReloaded', ...changes })
  }

  return {
    engine: () => engine!,
    async open(signal) {
      const open = () => openBackend(config, role, ground)
      const waits = async (failure: Failure) => {
        missing = failure
        if (server === undefined) await listen()
      }
      backend = serve ? await awaitBackend(open, waits, ground, signal) : await open()
      missing = undefined
      await backend.acquire(signal)
      engine = makeEngine()
      if (backend.tellsState) metrics.readState(() => engine!.snapshot())
      if (serve && server === undefined) await listen()
      for (const text of loaded.warnings) telemetry.emit({ name: 'Warned', about: 'configuration', text })
      const { zones, sinks } = knownOf(config)
      telemetry.emit({ name: 'Started', version, zones: zones.length, sinks, state: stateName(config) })
    },
    async start() {
      phase = 'running'
      isScheduled = true
      await engine!.schedule.start()
    },
    reload(load) {
      // One after the other: two at once would leave the engine of the first running beside that of the second.
      reloading = reloading.then(() => takeOver(load))
      return reloading
    },
    async stop() {
      phase = 'stopping'
      await reloading
      await engine?.close()
      await server?.stop()
      await backend?.close()
    },
  }
}

/** Remembers an answer for a short while, so that many probes cost one reading. */
function remember<Value>(
  read: () => Promise<Value>,
  forMs: number,
  clock: Ground['clock'],
): () => Promise<Value> {
  let held: { value: Promise<Value>; atMs: number } | undefined
  return () => {
    if (held === undefined || clock.monotonic() - held.atMs > forMs) {
      held = { value: read(), atMs: clock.monotonic() }
    }
    return held.value
  }
}
