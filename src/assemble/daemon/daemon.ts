import { overriddenText } from '../../config/load/overridden.ts'
import type { Loaded } from '../../config/load/load.ts'
import type { Config } from '../../config/schema/schema.ts'
import { messageOf, type Failure } from '../../domain/failure.ts'
import type { Server } from '../../server/server.ts'
import { awaitBackend } from '../await-backend.ts'
import type { Backend, Role } from '../backend.ts'
import { closeInOrder } from '../close-all.ts'
import { createDaemonServer } from './daemon-server.ts'
import { createEngine, type Engine } from './engine.ts'
import { stateName } from '../tasks/existing-store.ts'
import { knownOf, type Ground } from '../ground.ts'
import { openBackend } from '../open-backend.ts'
import { reloadEngine } from './reload.ts'
import { version } from '../version.ts'

export interface DaemonOptions {
  readonly ground: Ground
  readonly serve: boolean
  readonly role: Role
  readonly sinkGone: (failure: Failure) => void
}

/** The running system of one configuration: the store, the engine that ships, the HTTP server. */
export class Daemon {
  readonly #options: DaemonOptions
  readonly #ground: Ground
  readonly #warnings: readonly string[]
  #config: Config
  #backend: Backend | undefined
  #server: Server | undefined
  #engine: Engine | undefined
  #phase: 'starting' | 'running' | 'stopping' = 'starting'
  /** Why nothing is shipped although the process is neither starting nor stopping. */
  #trouble: string | undefined
  /** False for a run that ends by itself: it does not reload its configuration. */
  #isScheduled = false
  readonly #turns = new Map<string, number>()
  #reloading = Promise.resolve()

  constructor({ config, warnings, overridden }: Loaded, options: DaemonOptions) {
    this.#options = options
    this.#ground = options.ground
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
    const { metrics, telemetry } = this.#ground
    this.#backend = await this.#openBackend(signal)
    this.#trouble = undefined
    await this.#backend.acquire(signal)
    this.#engine = this.#makeEngine(this.#config)
    if (this.#backend.tellsState) metrics.readState(() => this.engine().snapshot())
    if (serve) await this.#listen()
    for (const text of this.#warnings) telemetry.emit({ name: 'Warned', about: 'configuration', text })
    const { zones, sinks } = knownOf(this.#config)
    const state = stateName(this.#config)
    telemetry.emit({ name: 'Started', version, zones: zones.length, sinks, state })
  }

  /** Starts shipping. */
  async start(): Promise<void> {
    this.#phase = 'running'
    this.#isScheduled = true
    await this.engine().start()
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
    await this.#reloading
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

  #openBackend(signal: AbortSignal): Promise<Backend> {
    const { serve, role } = this.#options
    const open = () => openBackend(this.#config, role, this.#ground)
    if (!serve) return open()
    const waits = async (failure: Failure) => {
      this.#trouble = failure.message
      await this.#listen()
    }
    return awaitBackend(open, waits, this.#ground, signal)
  }

  #makeEngine(config: Config): Engine {
    const turned = (loop: string) => {
      this.#turns.set(loop, this.#ground.clock.monotonic())
      if (this.#phase === 'starting') this.#phase = 'running'
    }
    const { ground, sinkGone } = this.#options
    return createEngine(config, { ground, backend: this.#backend!, turned, sinkGone })
  }

  async #reload(load: () => Loaded): Promise<void> {
    if (this.#phase !== 'running' || !this.#isScheduled) return
    await reloadEngine(this.engine(), {
      load,
      makeEngine: (config) => this.#makeEngine(config),
      start: (engine) => this.#startInstead(engine),
      halted: (error) => this.#halted(error),
      telemetry: this.#ground.telemetry,
    })
  }

  /** Replaces a closed engine. */
  async #startInstead(engine: Engine): Promise<void> {
    const { config } = engine
    const { logger, metrics } = this.#ground
    this.#engine = engine
    this.#config = config
    logger.setLevel(config.log.level)
    metrics.prepare(knownOf(config))
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
      notShipping: () =>
        this.#trouble ?? (this.#phase === 'running' ? undefined : `the process is ${this.#phase}`),
      storeTrouble: () => this.#backend?.storeTrouble(),
      turns: this.#turns,
    }
    this.#server = createDaemonServer(this.#config, state, this.#ground)
    await this.#server.start()
  }

  #warn(about: string, text: string): void {
    this.#ground.telemetry.emit({ name: 'Warned', about, text })
  }
}
