import { randomBytes } from 'node:crypto'
import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { openDatabase } from './database.ts'
import { isMade } from './schema.ts'
import { prepareStateFile, unwritable } from './state-file.ts'

/**
 * Opens the store for writing, or one of another name beside it where there is none yet, and leaves nothing behind.
 * Throws `store_refuses` when a run could not keep its state at this path.
 */
export async function probeSqliteStore(path: string): Promise<void> {
  const file = resolve(path)
  const isThere = existsSync(file)
  const made = missingFolders(dirname(file))
  const at = isThere ? file : join(dirname(file), `.shieldlog-check-${randomBytes(5).toString('hex')}.db`)
  try {
    prepareStateFile(at, !isThere)
    const database = await openDatabase(at)
    try {
      await database.read(() => isMade(database))
      await database.write(() => undefined)
    } finally {
      database.close()
    }
  } catch (error) {
    const isOfTrial = !isThere && error instanceof Error && error.cause !== undefined
    throw isOfTrial ? unwritable(file, error.cause) : error
  } finally {
    if (!isThere) removeTrial(at, made)
  }
}

/** The folders that do not exist yet, the innermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) || dirname(folder) === folder ? [] : [folder, ...missingFolders(dirname(folder))]
}

/** A folder that another process started to use meanwhile is not empty and stays. */
function removeTrial(trial: string, made: readonly string[]): void {
  try {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${trial}${end}`, { force: true })
    for (const folder of made) if (existsSync(folder)) rmdirSync(folder)
  } catch {
    // Nothing was created there, or another process uses the folder by now.
  }
}
