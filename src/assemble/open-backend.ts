import type { Config } from '../config/schema/schema.ts'
import type { Backend, Role } from './backend.ts'
import { openEmbedded } from './daemon/embedded.ts'
import type { Ground } from './ground.ts'
import { fleetState } from './state.ts'

export async function openBackend(config: Config, role: Role, ground: Ground): Promise<Backend> {
  const fleet = fleetState(config)
  if (fleet === undefined) return openEmbedded(config, ground)
  // The clients of Redis and of its queues take 20 MB, which a process without Redis has no use for.
  const { openFleet } = await import('./daemon/fleet.ts')
  return openFleet(config, fleet, role, ground)
}
