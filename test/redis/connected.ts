import { connectRedis, type RedisClient } from '../../src/redis/connection.ts'
import { own } from '../setup/leftovers.ts'
import { stateAt } from '../state/redis/settings.ts'

/** Closed after the test. */
export function connected(url: string, manner: 'prompt' | 'patient' = 'prompt'): RedisClient {
  const client = connectRedis(stateAt(url), { manner, name: 'test' }, () => undefined)
  own({ what: 'connection', isLeft: () => true, remove: async () => client.disconnect(), isFault: false })
  return client
}
