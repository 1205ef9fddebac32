import { randomBytes } from 'node:crypto'
import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { openDatabase } from './database.ts'
import { checkSchema } from './schema.ts'
import { prepareStateFile, unwritable } from './state-file.ts'

/**
 * Opens the store for writing, or one of another name beside it where there is none yet, and leaves nothing behind.
 * Throws `store_refuses` when a run could not keep its state at this path.
 */
export async function probeSqliteStore(path: string): Promise<void> {
  const file = resolve(path)
  if (existsSync(file)) {
    await tryWrite(file)
    return
  }
  const folder = dirname(file)
  const made = missingFolders(folder)
  const trial = join(folder, `.shieldlog-check-${randomBytes(5).toString('hex')}.db`)
  try {
    prepareStateFile(trial, true)
    await tryWrite(trial)
  } catch (error) {
    throw error instanceof Error && error.cause !== undefined ? unwritable(file, error.cause) : error
  } finally {
    removeTrial(trial, made)
  }
}

async function tryWrite(file: string): Promise<void> {
  prepareStateFile(file, false)
  const database = await openDatabase(file)
  try {
    await checkSchema(database)
    await database.write(() => undefined)
  } finally {
    database.close()
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
