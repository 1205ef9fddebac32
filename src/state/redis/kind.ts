import { nameOf } from '../../redis/connection.ts'
import type { StateKind } from '../state-kind.ts'
import type { RedisState } from './store.ts'

export function redisKind(state: RedisState): StateKind {
  const open: StateKind['open'] = async (options) => {
    // The client takes 20 MB, which a process without Redis does not need.
    const { openRedisStore } = await import('./store.ts')
    return openRedisStore({ ...options, state })
  }
  return {
    name: nameOf(state),
    exists: () => true,
    probe: async (options) => (await open(options)).close(),
    open,
  }
}
