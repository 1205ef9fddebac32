import { randomBytes } from 'node:crypto'
import type { RedisState } from '../../../src/state/redis/records.ts'

/** Settings for a URL, as the configuration makes them. */
export function stateAt(url: string, more: Partial<RedisState> = {}): RedisState {
  const { hostname, port, pathname } = new URL(url)
  return {
    topology: 'single',
    nodes: [{ host: hostname, port: Number(port === '' ? 6379 : port) }],
    db: Number(pathname.slice(1)),
    keyPrefix: `test-${randomBytes(4).toString('hex')}`,
    ...more,
  }
}
