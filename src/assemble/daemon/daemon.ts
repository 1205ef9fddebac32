import type { Loaded } from '../../config/load.ts'
import { overriddenText } from '../../config/layers.ts'
import { unknownZoneWarnings } from '../../config/warnings.ts'
import type { Config } from '../../config/schema.ts'
import { cancelled, messageOf, type Failure, isFailure } from '../../domain/failure.ts'
import type { Server } from '../../server/server.ts'
import type { Backend, Role } from './backend.ts'
import { closeInOrder } from '../close-all.ts'
import { discoveringIn } from '../../discovery/with-zones.ts'
import { ZoneDirectory, type MissingZones } from '../../discovery/zone-directory.ts'
import { zonesOf } from '../../config/planned.ts'
import { knownOf, type Runtime } from '../runtime.ts'
import { stateName, fleetState } from '../state.ts'
import { version } from '../version.ts'
import { createDaemonServer } from './daemon-server.ts'
import { createEngine, type Engine } from './engine.ts'
import { reloadEngine } from './reload.ts'
import { listZones, type AccountZones } from '../../discovery/list-zones.ts'
import { createReading } from '../reading.ts'
import { openEmbedded } from './embedded.ts'

interface DaemonOptions {
  readonly runtime: Runtime
  readonly serve: boolean
  readonly role: Role
  readonly sinkGone: (failure: Failure) => void
}

/** The running system of one configuration: the store, the engine that ships, the HTTP server. */
export class Daemon {
  readonly #options: DaemonOptions
  readonly #runtime: Runtime
  readonly #warnings: readonly string[]
  #config: Config
  #backend: Backend | undefined
  #server: Server | undefined
  #engine: Engine | undefined
  #phase: 'starting' | 'running' | 'stopping' = 'starting'
  /** Why nothing is shipped although the process is neither starting nor stopping. */
  #trouble: string | undefined
  readonly #turns = new Map<string, number>()
  readonly #started = Promise.withResolvers<void>()
  /** A reload during the start is applied after it. */
  #reloading = this.#started.promise
  #zones: ZoneDirectory | undefined
  #watching = Promise.resolve()
  readonly #stopped = new AbortController()

  constructor({ config, warnings, overridden }: Loaded, options: DaemonOptions) {
    this.#options = options
    this.#runtime = options.runtime
    this.#config = config
    this.#warnings = overridden.length === 0 ? warnings : [...warnings, overriddenText(overridden)]
  }

  /** Only after `open`. */
  engine(): Engine {
    return this.#engine!
  }

  /** Opens the state, takes the schedule lock and serves HTTP; ships nothing yet. Throws Failure. */
  async open(signal: AbortSignal): Promise<void> {
    const { serve } = this.#options
    const { metrics, telemetry } = this.#runtime
    this.#backend = await this.#openBackend(signal)
    this.#trouble = undefined
    await this.#backend.acquire(signal)
    const zones = new ZoneDirectory({
      ...this.#runtime,
      ...this.#backend,
      list: (config, accounts, abort) => this.#list(config, accounts, abort),
      changed: () => this.#prepare(),
    })
    this.#zones = zones
    if (discoveringIn(this.#config).length > 0) {
      // Probes are answered while the API is asked.
      if (serve) await this.#listen()
      await zones.refresh(this.#config, signal, true)
    }
    this.#engine = this.#makeEngine(this.#config)
    if (this.#backend.schedules) metrics.readState(() => this.engine().snapshot())
    if (serve) await this.#listen()
    this.#warnOf(this.#warnings)
    const known = knownOf(zones.fill(this.#config))
    const state = stateName(this.#config)
    telemetry.emit({ name: 'Started', version, zones: known.zones.length, sinks: known.sinks, state })
  }

  /** Starts shipping. */
  async start(): Promise<void> {
    this.#phase = 'running'
    await this.engine().start()
    this.#watching = this.#zones!.watch(() => this.#config, this.#stopped.signal)
    this.#started.resolve()
  }

  /** An account whose zones are not known; undefined where those of all are. */
  missingZones(): MissingZones | undefined {
    return this.#zones?.missing(this.#config)
  }

  /** Applies a new configuration, or refuses it with all its errors and keeps the old one. Never rejects. */
  reload(load: () => Loaded): Promise<void> {
    // In sequence: two reloads at once would leave two engines running.
    this.#reloading = this.#reloading.then(() => this.#reload(load))
    return this.#reloading
  }

  /**
   * Stops all parts, also after one fails to stop; uncommitted events are shipped again at the next start. Never
   * rejects. Idempotent; safe before `open`. The order: 1. a reload in progress, so that it creates no engine after the
   * close; 2. the engine: first the schedule, which aborts running pumps and waits for them, then the sinks and the API
   * clients; 3. the server, so that probes and scrapes work during the stop; 4. the store with the schedule lock, since
   * all of the above write to it, and a process that waits for the lock starts then.
   */
  async stop(): Promise<void> {
    this.#phase = 'stopping'
    this.#stopped.abort(cancelled())
    this.#started.resolve()
    await Promise.all([this.#reloading, this.#watching])
    try {
      await closeInOrder(
        () => this.#engine?.close(),
        () => this.#server?.stop(),
        () => this.#backend?.close(),
      )
    } catch (error) {
      this.#warn('stop', `cannot close everything: ${messageOf(error)}`)
    }
  }

  /** By clients of its own: a configuration that is not in force yet may have other keys. */
  async #list(config: Config, accounts: Config['accounts'], signal: AbortSignal): Promise<AccountZones[]> {
    const reading = createReading(config, this.#runtime, this.#backend!.limitsOf)
    try {
      return await listZones(reading.clientOf)(accounts, signal)
    } finally {
      await reading.close()
    }
  }

  #openBackend(signal: AbortSignal): Promise<Backend> {
    const { serve, role } = this.#options
    const open = () => openBackend(this.#config, role, this.#runtime)
    if (!serve) return open()
    const waits = async (failure: Failure) => {
      this.#trouble = failure.message
      await this.#listen()
    }
    return awaitBackend(open, waits, this.#runtime, signal)
  }

  #makeEngine(config: Config): Engine {
    const turned = (loop: string) => {
      this.#turns.set(loop, this.#runtime.clock.monotonic())
      if (this.#phase === 'starting') this.#phase = 'running'
    }
    const { runtime, sinkGone } = this.#options
    return createEngine(config, {
      runtime,
      backend: this.#backend!,
      zones: () => zonesOf(this.#zones!.fill(config)),
      readZones: () => this.#zones!.read(),
      turned,
      sinkGone,
    })
  }

  async #reload(load: () => Loaded): Promise<void> {
    if (this.#phase !== 'running') return
    const before = this.#config
    const loaded = await this.#loadWithZones(load).catch((error: unknown) => ({ error }))
    await reloadEngine(this.engine(), {
      load() {
        if ('error' in loaded) throw loaded.error
        return loaded
      },
      makeEngine: (config) => this.#makeEngine(config),
      start: (engine) => this.#startInstead(engine),
      halted: (error) => this.#halted(error),
      telemetry: this.#runtime.telemetry,
    })
    if (!('error' in loaded) && this.#config !== before) this.#warnOf(loaded.warnings)
  }

  /** A configuration whose zones cannot be found out is refused, as one with errors is. */
  async #loadWithZones(load: () => Loaded): Promise<Loaded> {
    const loaded = load()
    if (discoveringIn(loaded.config).length === 0) return loaded
    await this.#zones!.refresh(loaded.config, this.#stopped.signal, true)
    const missing = this.#zones!.missing(loaded.config)
    if (missing?.failure !== undefined) throw missing.failure
    return loaded
  }

  #prepare(): void {
    this.#runtime.metrics.prepare(knownOf(this.#zones!.fill(this.#config)))
  }

  /** Replaces a closed engine. */
  async #startInstead(engine: Engine): Promise<void> {
    const { config } = engine
    this.#engine = engine
    this.#config = config
    this.#runtime.logger.setLevel(config.log.level)
    this.#prepare()
    if (this.#phase !== 'running') return
    await engine.start()
    this.#trouble = undefined
  }

  #halted(error: unknown): void {
    this.#trouble = `shieldlog has shipped nothing since a failed reload: ${messageOf(error)}`
    this.#warn('reload', `${this.#trouble}; fix it and send SIGHUP again, or restart`)
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return
    const state = {
      config: () => this.#config,
      engine: () => this.#engine,
      notShipping: () => this.#notShipping(),
      storeTrouble: () => this.#backend?.storeTrouble(),
      turns: this.#turns,
    }
    this.#server = createDaemonServer(this.#config, state, this.#runtime)
    await this.#server.start()
  }

  #notShipping(): string | undefined {
    if (this.#trouble !== undefined) return this.#trouble
    if (this.#phase !== 'running') return `the process is ${this.#phase}`
    const missing = this.missingZones()
    if (missing === undefined) return undefined
    const why = missing.failure === undefined ? '' : ` (${missing.failure.code})`
    return `the zones of account ${missing.account} have not been listed yet${why}`
  }

  /** With the warnings of `warnings` those that only the zones of the API show. */
  #warnOf(warnings: readonly string[]): void {
    const isListed = discoveringIn(this.#config).length > 0 && this.missingZones() === undefined
    const late = isListed ? unknownZoneWarnings(this.#zones!.fill(this.#config)) : []
    for (const text of [...warnings, ...late]) this.#warn('configuration', text)
  }

  #warn(about: string, text: string): void {
    this.#runtime.telemetry.emit({ name: 'Warned', about, text })
  }
}

export async function openBackend(config: Config, role: Role, runtime: Runtime): Promise<Backend> {
  const fleet = fleetState(config)
  if (fleet === undefined) return openEmbedded(config, runtime)
  // Loaded only for Redis: the clients of Redis and its queues take 20 MB.
  const { openFleet } = await import('./fleet.ts')
  return openFleet(config, fleet, role, runtime)
}

const askAgainMs = 2_000

/**
 * Opens the backend, retrying until the server behind `state` answers: it may start later than this process or be away
 * for a while. Calls `waits` after each failed try. Throws Failure for errors that waiting does not fix.
 */
export async function awaitBackend(
  open: () => Promise<Backend>,
  waits: (failure: Failure) => Promise<void>,
  { clock, telemetry }: Runtime,
  signal: AbortSignal,
): Promise<Backend> {
  let isTold = false
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isFailure(error) || error.kind !== 'retry') throw error
      if (!isTold) telemetry.emit({ name: 'Warned', about: 'state', text: error.message })
      isTold = true
      await waits(error)
    }
    await clock.sleep(askAgainMs, signal)
  }
}
