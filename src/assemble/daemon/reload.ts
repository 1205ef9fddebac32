import { compareConfigs, type Comparison } from '../../config/compare.ts'
import { ConfigErrors, errorLine } from '../../config/errors.ts'
import type { Loaded } from '../../config/load.ts'
import type { Config } from '../../config/schema.ts'
import { messageOf } from '../../domain/failure.ts'
import type { Telemetry } from '../../ports/process.ts'

/** What a reload needs to know of an engine. */
export interface Reloadable {
  readonly config: Config
  close(): Promise<void>
}

export interface Reload<Engine extends Reloadable> {
  readonly load: () => Pick<Loaded, 'config'>
  /** Creates the engine of a configuration; it ships nothing before its start. */
  readonly makeEngine: (config: Config) => Engine
  /** Puts an engine in force and starts it, unless the process is stopping. */
  readonly start: (engine: Engine) => Promise<void>
  /** Called when neither the new nor the old configuration could be started: nothing is shipped any more. */
  readonly halted: (error: unknown) => void
  readonly telemetry: Telemetry
}

/**
 * Replaces the configuration in force, or refuses the new one and keeps the old. Never rejects: a reload must not end
 * the process.
 */
export async function reloadEngine<Engine extends Reloadable>(
  old: Engine,
  reload: Reload<Engine>,
): Promise<void> {
  const { makeEngine, start, halted, telemetry } = reload
  let prepared: Prepared<Engine>
  try {
    prepared = prepare(old, reload)
  } catch (error) {
    return refuse(error, telemetry)
  }
  const { next, changes } = prepared
  // Running pumps stop between two pages or are repeated: nothing is lost.
  await close(old, telemetry)
  try {
    await start(next)
    telemetry.emit({ name: 'ConfigReloaded', ...changes })
  } catch (error) {
    refuse(error, telemetry)
    await close(next, telemetry)
    // Wrapped in a promise, so that `halted` also gets an error of `makeEngine`.
    await Promise.resolve(old.config).then(makeEngine).then(start).catch(halted)
  }
}

interface Prepared<Engine> {
  readonly next: Engine
  readonly changes: Comparison
}

function prepare<Engine extends Reloadable>(
  { config }: Engine,
  { load, makeEngine }: Reload<Engine>,
): Prepared<Engine> {
  const loaded = load().config
  // State and server change only at a restart.
  const next = makeEngine({ ...loaded, state: config.state, server: config.server })
  return { next, changes: compareConfigs(config, loaded) }
}

function refuse(error: unknown, telemetry: Telemetry): void {
  const errors = error instanceof ConfigErrors ? error.errors.map(errorLine) : [messageOf(error)]
  telemetry.emit({ name: 'ConfigRefused', errors })
}

async function close(engine: Reloadable, telemetry: Telemetry): Promise<void> {
  await engine.close().catch((error: unknown) => {
    const text = `cannot stop the old configuration cleanly: ${messageOf(error)}`
    telemetry.emit({ name: 'Warned', about: 'reload', text })
  })
}
