import { reloaded } from '../config/compare.ts'
import { ConfigErrors, errorLine } from '../config/errors.ts'
import type { Loaded } from '../config/load.ts'
import { unknownZoneWarnings } from '../config/warnings.ts'
import type { Config } from '../config/schema.ts'
import { cancelled, messageOf, type Failure } from '../domain/failure.ts'
import { tlsIn } from '../domain/tls.ts'
import { idleMsOf } from '../domain/problem.ts'
import { keepSystemdInformed, type SystemdEnvironment } from '../notify/systemd.ts'
import { healthOf, type HealthState } from '../server/routes.ts'
import { startServer, type Server } from '../server/server.ts'
import { foreignWarning } from '../status/problems.ts'
import { createLagHistory } from '../status/lag-history.ts'
import { openBackend } from './open-backend.ts'
import type { Backend } from './backend.ts'
import type { Role } from '../ports/process.ts'
import { discoveringIn } from '../discovery/with-zones.ts'
import { ZoneDirectory, type MissingZones } from '../discovery/zone-directory.ts'
import { knownOf, type LoggedRuntime } from '../assemble/logged-runtime.ts'
import { foreignParts } from '../assemble/other-state.ts'
import { stateName } from '../assemble/state.ts'
import { version } from '../assemble/version.ts'
import { createEngine, type Engine } from './engine.ts'
import { reasonsNotReady, type ReadinessFacts } from './readiness.ts'
import { listZones } from '../discovery/list-zones.ts'
import { createReading } from '../assemble/api-reading.ts'
import { measureSpace } from '../upkeep/sink-space.ts'

interface DaemonOptions {
  readonly runtime: LoggedRuntime
  readonly serve: boolean
  readonly role: Role
  readonly sinkGone: (failure: Failure) => void
  /** What systemd has set in the environment. */
  readonly systemd?: SystemdEnvironment
}

/** The running system of one configuration: the store, the engine that ships, the HTTP server. */
export class Daemon {
  readonly #options: DaemonOptions
  readonly #runtime: LoggedRuntime
  readonly #warnings: readonly string[]
  #config: Config
  #backend: Backend | undefined
  #server: Server | undefined
  #engine: Engine | undefined
  #phase: ReadinessFacts['phase'] = 'starting'
  /** Why nothing is shipped although the process is neither starting nor stopping. */
  #trouble: string | undefined
  /** Time of the last turn of each loop that must keep running. */
  readonly #turns = new Map<string, number>()
  readonly #history = createLagHistory()
  readonly #started = Promise.withResolvers<void>()
  /** A reload during the start is applied after it. */
  #reloading = this.#started.promise
  #zones: ZoneDirectory | undefined
  #watching: Promise<unknown> | undefined
  readonly #stopped = new AbortController()

  constructor({ config, warnings, overridden }: Loaded, options: DaemonOptions) {
    this.#options = options
    this.#runtime = options.runtime
    this.#config = config
    this.#warnings = [...warnings, ...overridden]
  }

  /** Only after `open`. */
  engine(): Engine {
    return this.#engine!
  }

  /** Opens the state, takes the schedule lock, learns the zones and serves HTTP; ships nothing yet. Throws Failure. */
  async open(signal: AbortSignal): Promise<void> {
    this.#backend = await this.#openBackend(signal)
    this.#zones = this.#createDirectory(this.#backend)
    await this.#learnZones(this.#config, signal)
    this.#engine = this.#makeEngine(this.#config)
    const { metrics, telemetry } = this.#runtime
    metrics.readAtScrape({
      measure: () => this.#measure(),
      ...(this.#schedules && { observe: () => this.engine().observe() }),
    })
    await this.#listen()
    this.#warnOf(this.#warnings)
    const named = knownOf(this.#zones.fill(this.#config))
    const state = stateName(this.#config)
    const held = await this.#engine.held()
    const started = { version, zones: named.zones.length, sinks: named.sinks, held, state }
    const { catalogue, id } = this.#backend.store
    const routes = await catalogue.routes()
    const idleMs = idleMsOf(routes, this.#runtime.clock.now())
    const { firstRunDays } = this.#config.poll
    telemetry.emit({
      name: 'Started',
      ...started,
      ...(routes.length === 0 && { newDays: firstRunDays }),
      idleMs,
    })
    // Before anything is shipped there once more.
    for (const each of await foreignParts(this.#config, id, this.#runtime.clock))
      this.#warn('state', foreignWarning(each))
  }

  /** Starts shipping. */
  async start(): Promise<void> {
    this.#phase = 'running'
    this.engine().start()
    const { signal } = this.#stopped
    const { clock } = this.#runtime
    const isHealthy = () => this.#health().healthy
    this.#watching = Promise.all([
      this.#zones!.watch(() => this.#config, signal),
      keepSystemdInformed(this.#options.systemd ?? {}, { clock, isHealthy }, signal),
    ])
    this.#started.resolve()
  }

  /** An account whose zones are not known; undefined where those of all are. */
  missingZones(): MissingZones | undefined {
    return this.#zones?.missing(this.#config)
  }

  /**
   * Replaces the configuration in force, or refuses the new one with all its errors and keeps the old. Never rejects: a
   * reload must not end the process.
   */
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
    const warn = (error: unknown) => this.#warn('stop', `cannot close everything: ${messageOf(error)}`)
    await this.#engine?.close().catch(warn)
    await this.#server?.stop().catch(warn)
    await this.#backend?.close().catch(warn)
  }

  /** Probes are answered, with the reason, while a state that may come is waited for. */
  async #openBackend(signal: AbortSignal): Promise<Backend> {
    const { serve, role } = this.#options
    const waits = async ({ message }: Failure) => {
      this.#trouble = message
      await this.#listen()
    }
    const backend = await openBackend(this.#config, role, this.#runtime, signal, serve ? waits : undefined)
    this.#trouble = undefined
    return backend
  }

  #createDirectory({ store, limitsOf }: Backend): ZoneDirectory {
    return new ZoneDirectory({
      ...this.#runtime,
      store,
      schedules: this.#schedules,
      // By clients of its own: a configuration that is not in force yet may have other keys.
      list: async (config, accounts, abort) => {
        await using reading = createReading(config, this.#runtime, limitsOf)
        return await listZones(reading.clientOf)(accounts, abort)
      },
      changed: () => this.#prepare(),
    })
  }

  /** Has the API asked for the zones of accounts that discover theirs. Probes are answered meanwhile. */
  async #learnZones(config: Config, signal: AbortSignal): Promise<void> {
    if (discoveringIn(config).length === 0) return
    await this.#listen()
    await this.#zones!.refresh(config, signal, true)
  }

  /** The roles that schedule list zones, and report the gauges of shared state for all processes. */
  get #schedules(): boolean {
    return this.#options.role !== 'worker'
  }

  /** An engine of a configuration; it ships nothing before its start. */
  #makeEngine(config: Config): Engine {
    const { runtime, sinkGone } = this.#options
    for (const tls of tlsIn(config)) tls.tell = (problem) => this.#warn('configuration', problem)
    return createEngine(config, {
      runtime,
      backend: this.#backend!,
      directory: this.#zones!,
      turned: (loop) => {
        this.#turns.set(loop, runtime.clock.monotonic())
        if (this.#phase === 'starting') this.#phase = 'running'
      },
      sinkGone,
      notReady: () => this.#notReady(),
      history: this.#history,
    })
  }

  async #reload(load: () => Loaded): Promise<void> {
    if (this.#phase !== 'running') return
    try {
      const loaded = await this.#loadWithZones(load)
      const { config, ...changes } = reloaded(this.#config, loaded.config)
      const next = this.#makeEngine(config)
      // Running pumps stop between two pages or are repeated: nothing is lost.
      await this.engine()
        .close()
        .catch((error: unknown) => {
          this.#warn('reload', `cannot stop the old configuration cleanly: ${messageOf(error)}`)
        })
      this.#engine = next
      this.#config = config
      this.#runtime.logger.setLevel(config.log.level)
      this.#prepare()
      if (!this.#stopped.signal.aborted) next.start()
      this.#runtime.telemetry.emit({ name: 'ConfigReloaded', ...changes })
      this.#warnOf(loaded.warnings)
    } catch (error) {
      const errors = error instanceof ConfigErrors ? error.errors.map(errorLine) : [messageOf(error)]
      this.#runtime.telemetry.emit({ name: 'ConfigRefused', errors })
    }
  }

  /** A configuration whose zones cannot be found out is refused, as one with errors is. */
  async #loadWithZones(load: () => Loaded): Promise<Loaded> {
    const loaded = load()
    await this.#learnZones(loaded.config, this.#stopped.signal)
    const missing = this.#zones!.missing(loaded.config)
    if (missing?.failure !== undefined) throw missing.failure
    return loaded
  }

  #prepare(): void {
    this.#runtime.metrics.prepare(knownOf(this.#zones!.fill(this.#config)))
  }

  async #listen(): Promise<void> {
    if (!this.#options.serve) return
    this.#server ??= await startServer({
      ...this.#runtime,
      ...this.#config.server,
      health: () => this.#health(),
      notReady: () => this.#notReady(),
      status: async () => this.#engine?.status() ?? { starting: true },
      views: () => this.#engine?.views,
    })
  }

  async #measure(): Promise<void> {
    const { metrics, clock } = this.#runtime
    const { writes } = this.#backend!.store
    const failedAtMs = writes.failedAtMs()
    const isWritable = writes.failure() === undefined
    metrics.measure('state_writable', {}, [{ labels: {}, value: Number(isWritable) }])
    const failed = failedAtMs === undefined ? [] : [{ labels: {}, value: failedAtMs / 1000 }]
    metrics.measure('state_failed_write_timestamp_seconds', {}, failed)
    await measureSpace(this.#config, metrics, clock)
  }

  /** Whether the loops turn, whatever API, sinks and store do. */
  #health(): HealthState {
    return healthOf(this.#turns, this.#config.poll.everySeconds, this.#runtime.clock.monotonic())
  }

  #notReady(): Promise<string[]> {
    return reasonsNotReady({
      phase: this.#phase,
      trouble: this.#trouble,
      missing: this.missingZones(),
      writeFailure: this.#backend?.store.writes.failure(),
      observe: () => this.engine().observe(),
      readyLagSeconds: this.#config.server.readyLagSeconds,
    })
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
