import { accessSync, constants } from 'node:fs'
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
