import type { Config } from '../config/schema.ts'
import type { Backend, Role } from './backend.ts'
import { openEmbedded } from './embedded.ts'
import { openFleet } from './fleet.ts'
import type { Ground } from './ground.ts'

export function openBackend(config: Config, role: Role, ground: Ground): Promise<Backend> {
  const { state } = config
  return state.kind === 'redis' ? openFleet(config, state, role, ground) : openEmbedded(config, ground)
}
