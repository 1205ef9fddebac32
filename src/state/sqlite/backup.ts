import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { Failure } from '../../domain/failure.ts'
import { syncFolder } from '../../disk.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { prepareStateFile } from './state-file.ts'
import { refuseWithoutLog } from './schedule-lock.ts'

/** All pages in one step: a step that finds the file changed by a running process would begin anew, without end. */
const pagesAtOnce = 2_147_483_647

const unfinishedName = /\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.unfinished$/
/** One that nothing was written to for this long is of a process that was killed. */
const abandonedMs = 3_600_000

/**
 * Writes a copy of a store to a new file, readable by this user only: as the store is at one moment, also while a process
 * writes to it. Returns its size in bytes. Throws Failure, and leaves no file then.
 */
export async function backUp(path: string, target: string): Promise<number> {
  const refuse = (why: string, cause?: unknown) =>
    new Failure('refuse', 'rejected', `cannot write a copy of the state to ${target}: ${why}`, { cause })
  const refuseTaken = () => {
    if (existsSync(target)) throw refuse('there is a file with that name: name a new one')
  }
  refuseTaken()
  prepareStateFile(path, false)
  refuseWithoutLog(path)
  // A name of its own: another process may write a copy to the same file.
  const unfinished = `${target}.${randomUUID()}.unfinished`
  try {
    closeSync(openSync(unfinished, 'wx', 0o600))
    removeAbandoned(dirname(target), statSync(unfinished).mtimeMs - abandonedMs)
    using source = new DatabaseSync(path, { readOnly: true })
    await backup(source, unfinished, { rate: pagesAtOnce })
    check(unfinished)
    await syncFile(unfinished)
    refuseTaken()
    renameSync(unfinished, target)
    await syncFolder(dirname(target))
    return statSync(target).size
  } catch (error) {
    throw error instanceof Failure ? error : refuse(systemErrorText(error), error)
  } finally {
    removeCopy(unfinished)
  }
}

/** With the files that SQLite has beside one that it writes. */
function removeCopy(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true })
}

/** A copy that cannot be read would be found when it is needed. */
function check(path: string): void {
  using database = new DatabaseSync(path, { readOnly: true })
  const [found] = database
    .prepare('PRAGMA quick_check(1)')
    .all()
    .map((row) => Object.values(row)[0])
  if (found !== 'ok')
    throw new Failure(
      'stop',
      'store_refuses',
      `the state is damaged: ${String(found)}: restore an earlier copy`,
    )
}

/** Copies beside this one, whatever their name was to be. One that cannot be removed is left to its owner. */
function removeAbandoned(folder: string, beforeMs: number): void {
  let names: readonly string[] = []
  try {
    names = readdirSync(folder)
  } catch {
    // A folder that may be written to and not listed.
  }
  for (const name of names) {
    if (!unfinishedName.test(name)) continue
    const path = join(folder, name)
    try {
      if (statSync(path).mtimeMs < beforeMs) removeCopy(path)
    } catch {
      // Another user's, or ended meanwhile.
    }
  }
}

async function syncFile(path: string): Promise<void> {
  await using handle = await open(path, 'r')
  await handle.sync()
}
