import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import { systemCode, systemErrorText, systemRemedy } from '../../domain/text/system-error.ts'
import { randomBytes } from 'node:crypto'
import { openDatabase, isMade } from './database.ts'

/**
 * Makes the file and its folders where they are missing, readable by this user only, and checks that SQLite can write
 * it and the files beside it. An existing file keeps its mode. Throws `store_refuses`.
 */
export function prepareStateFile(path: string, create: boolean): void {
  if (!create && !existsSync(path)) {
    const remedy = 'start `run` once, or set `state` to the right store'
    throw new Failure('stop', 'store_refuses', `there is no store at ${path}: ${remedy}`)
  }
  try {
    if (create) createFile(path)
    if (!statSync(path).isFile()) throw Object.assign(new Error('no file'), { code: 'EISDIR', path })
    accessSync(dirname(path), constants.R_OK | constants.W_OK | constants.X_OK)
    for (const file of [path, `${path}-wal`, `${path}-shm`])
      if (file === path || existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw unwritable(path, error)
  }
}

function createFile(path: string): void {
  makeFolder(dirname(path))
  try {
    // Only a new file may be opened here: closing any descriptor of a database drops this process's locks on it.
    const fd = openSync(path, 'wx', 0o600)
    try {
      // The umask may have removed more rights than intended.
      fchmodSync(fd, 0o600)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

/** Level by level: where no folder can be made, such as in /proc, `recursive` would retry forever. */
function makeFolder(path: string): void {
  if (existsSync(path) || path === dirname(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
    chmodSync(path, 0o700)
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

/** One line with the path, its owner and mode, the user of this process, and the remedy. */
export function unwritable(path: string, error: unknown): Failure {
  const at = nearest(error instanceof Error && 'path' in error ? String(error.path) : path)
  const code = systemCode(error)
  const uid = process.getuid?.() ?? -1
  const isDenied = code === 'EACCES' || code === 'EPERM'
  const remedy = isDenied ? `run \`chown ${uid} ${at}\`` : systemRemedy(error)
  const { uid: owner, gid, mode } = lstatSync(at)
  const bits = (mode & 0o7777).toString(8).padStart(4, '0')
  const text =
    `cannot write the state at ${path}: ${systemErrorText(error)}: ${at} belongs to uid ${owner}, gid ${gid}, ` +
    `mode ${bits}, this process runs as uid ${uid}; ${remedy}, or set \`state\` to another path`
  return new Failure('stop', 'store_refuses', text, { cause: error })
}

/** The path itself, or the closest folder above it that exists. */
function nearest(path: string): string {
  try {
    lstatSync(path)
    return path
  } catch {
    return dirname(path) === path ? path : nearest(dirname(path))
  }
}

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
