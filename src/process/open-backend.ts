import type { Role } from '../ports/process.ts'
import type { Backend } from './backend.ts'
import { openEmbedded } from './embedded.ts'
import type { Config } from '../config/schema.ts'
import { isFailure, type Failure } from '../domain/failure.ts'
import type { LoggedRuntime } from '../assemble/logged-runtime.ts'
import { fleetState } from '../assemble/state.ts'

const askAgainMs = 2_000

/**
 * With `waits`, retries until the server behind `state` answers, which may start later than this process or be away for
 * a while, and calls it after each failed try. Throws Failure for errors that waiting does not fix.
 */
export async function openBackend(
  config: Config,
  role: Role,
  runtime: LoggedRuntime,
  signal: AbortSignal,
  waits?: (failure: Failure) => Promise<void>,
): Promise<Backend> {
  const { clock, telemetry } = runtime
  const fleet = fleetState(config)
  for (let isTold = false; ; isTold = true) {
    try {
      if (fleet === undefined) return await openEmbedded(config, runtime, signal)
      // Loaded only for Redis: the clients of Redis and its queues take 20 MB.
      const { openFleet } = await import('./fleet.ts')
      return await openFleet(config, fleet, role, runtime)
    } catch (error) {
      if (waits === undefined || !isFailure(error) || error.kind !== 'retry') throw error
      if (!isTold) telemetry.emit({ name: 'Warned', about: 'state', text: error.message })
      await waits(error)
    }
    await clock.sleep(askAgainMs, signal)
  }
}
