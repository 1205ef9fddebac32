import type { Config } from '../config/schema/schema.ts'
import type { Backend, Role } from './backend.ts'
import { openEmbedded } from './daemon/embedded.ts'
import type { Runtime } from './runtime.ts'
import { fleetState } from './state.ts'

export async function openBackend(config: Config, role: Role, runtime: Runtime): Promise<Backend> {
  const fleet = fleetState(config)
  if (fleet === undefined) return openEmbedded(config, runtime)
  // Loaded only for Redis: the clients of Redis and its queues take 20 MB.
  const { openFleet } = await import('./daemon/fleet.ts')
  return openFleet(config, fleet, role, runtime)
}
