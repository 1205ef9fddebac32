import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Whether a command of this name is on PATH. */
export function isOnPath(command: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
