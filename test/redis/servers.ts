import type { RedisServers } from '../../src/redis/connection.ts'

/** A server of the tests, as a configuration would name it. */
export function serversAt(url: string): RedisServers {
  const { hostname, port, username, password } = new URL(url)
  if (password !== '' || username !== '')
    throw new Error('the test server wants a password; name one without')
  return { topology: 'single', nodes: [{ host: hostname, port: Number(port === '' ? 6379 : port) }], db: 0 }
}
