import { accessSync, constants, existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Whether a command of this name is on PATH. */
export function isOnPath(command: string): boolean {
  return findOnPath(command) !== undefined
}

/** The path of the command that a shell would start; undefined without one. */
export function findOnPath(command: string): string | undefined {
  const paths = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, command))
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** What to do where the tests in a browser are skipped. */
export const browserRemedy = 'install chromium (apt-get install chromium)'

export function browserAvailable(): boolean {
  return isOnPath('chromium')
}

/** What to do where the checks of units by systemd are skipped. */
export const systemdRemedy = 'install systemd 250 or later (apt-get install systemd)'

export function systemdAvailable(): boolean {
  return isOnPath('systemd-analyze')
}

/** Where the install script of that intake, in test/intakes, puts its server; undefined where it was not run. */
export function findIntake(name: string): string | undefined {
  const { SHIELDLOG_INTAKES: given, XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env
  const folder = join(given ?? join(cache, 'shieldlog-intakes'), name)
  return existsSync(join(folder, 'installed')) ? folder : undefined
}

/** What to do where the test with a real bucket is skipped. */
export const seaweedFsRemedy = 'install SeaweedFS (bash test/intakes/install.sh seaweedfs)'

export function seaweedFsAvailable(): boolean {
  return findIntake('seaweedfs') !== undefined
}

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
