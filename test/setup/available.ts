import { accessSync, constants, existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

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

const isOnPath = (command: string) => findOnPath(command) !== undefined

export const browserAvailable = () => isOnPath('chromium')
/** Prometheus's own checker. */
export const promtoolAvailable = () => isOnPath('promtool')
export const systemdAvailable = () => isOnPath('systemd-analyze')

/** Where the install script of that intake, in test/intakes, puts its server; undefined where it was not run. */
export function findIntake(name: string): string | undefined {
  const { SHIELDLOG_INTAKES: given, XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env
  const folder = join(given ?? join(cache, 'shieldlog-intakes'), name)
  return existsSync(join(folder, 'installed')) ? folder : undefined
}

export const seaweedFsAvailable = () => findIntake('seaweedfs') !== undefined

/** Whether `startRedis` works. */
export const redisServerAvailable = () => isOnPath('redis-server')
/** Whether `useRedis` works. Suites that need only this are not skipped where a shared server is named. */
export const redisAvailable = () => sharedUrl() !== undefined || redisServerAvailable()

/** The server that the caller of the tests names, if any. */
export function sharedUrl(): string | undefined {
  const url = process.env['SHIELDLOG_TEST_REDIS_URL']
  return url === undefined || url === '' ? undefined : url
}
