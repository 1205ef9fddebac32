import type { Config } from '../../config/schema.ts'
import { isFailure, type Failure } from '../../domain/failure.ts'
import type { Backend, Role } from './backend.ts'
import type { Runtime } from '../runtime.ts'
import { fleetState } from '../state.ts'
import { openEmbedded } from './embedded.ts'

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
