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
} from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import { systemCode, systemErrorText } from '../../domain/text/system-error.ts'

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
    if (!statSync(path).isFile()) throw codedError('EISDIR', path)
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
  const code = systemCode(error)
  const at = nearest(pathOf(error) ?? path)
  const uid = process.getuid?.() ?? -1
  const text = `cannot write the state at ${path}: ${systemErrorText(error)}: ${describe(at)}`
  const who = `this process runs as uid ${uid}`
  return new Failure('stop', 'store_refuses', `${text}, ${who}; ${remedyOf(code, at, uid)}`, { cause: error })
}

function remedyOf(code: string | undefined, at: string, uid: number): string {
  if (code === 'EACCES' || code === 'EPERM')
    return `run \`chown ${uid} ${at}\`, or set \`state\` to a path that this user can write`
  if (code === 'EROFS')
    return 'mount a writable volume there, or set `state` to a path that this user can write'
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'free space on that disk'
  if (code === 'EISDIR') return 'set `state` to a file, not a folder'
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'set `state` to a path below a folder'
  return 'set `state` to a path that this user can write'
}

function describe(path: string): string {
  const { uid, gid, mode } = lstatSync(path)
  return `${path} belongs to uid ${uid}, gid ${gid}, mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`
}

/** The path itself, or the closest folder above it that exists. */
function nearest(path: string): string {
  let at = path
  while (dirname(at) !== at) {
    try {
      lstatSync(at)
      return at
    } catch {
      at = dirname(at)
    }
  }
  return at
}

function codedError(code: string, path: string): Error {
  return Object.assign(new Error(code), { code, path })
}

function pathOf(error: unknown): string | undefined {
  return error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : undefined
}
