import { isOnPath } from './on-path.ts'

/** What to do where the Redis suites are skipped. */
export const redisRemedy =
  'install redis-server (apt-get install redis-server, brew install redis) or set SHIELDLOG_TEST_REDIS_URL'

/** Whether `redis-server` is on PATH, so that `startRedis` works. */
export function redisServerAvailable(): boolean {
  return isOnPath('redis-server')
}

/** Whether `useRedis` works. Suites that need only this are not skipped where a shared server is named. */
export function redisAvailable(): boolean {
  return sharedUrl() !== undefined || redisServerAvailable()
}

/** The server that the caller of the tests names, if any. */
export function sharedUrl(): string | undefined {
  const url = process.env['SHIELDLOG_TEST_REDIS_URL']
  return url === undefined || url === '' ? undefined : url
}
