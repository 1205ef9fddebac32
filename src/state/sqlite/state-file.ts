import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import { diskError, nearest } from '../../disk.ts'
import { systemCode } from '../../domain/text/system-error.ts'
import { openDatabase } from './database.ts'

/**
 * Makes the file and its folders where they are missing, readable by this user only; an existing file keeps its mode.
 * Without `create` the file must be there. Throws `store_refuses`.
 */
export function prepareStateFile(path: string, create = true): void {
  if (!create && !existsSync(path)) {
    const remedy = 'start `run` once, or set `state` to the right place'
    throw new Failure('stop', 'store_refuses', `there is no state at ${path}: ${remedy}`)
  }
  try {
    makeFolder(dirname(path))
    unlessThere(() => {
      // Only a new file may be opened here: closing any descriptor of a database drops this process's locks on it.
      const fd = openSync(path, 'wx', 0o600)
      // The umask may have removed more rights than intended.
      fchmodSync(fd, 0o600)
      closeSync(fd)
    })
    accessSync(dirname(path), constants.R_OK | constants.W_OK | constants.X_OK)
    for (const file of [path, `${path}-wal`, `${path}-shm`])
      if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw unwritable(path, error)
  }
  refuseSecondName(path)
}

/**
 * The lock of a store, and the log of what it stored last, lie beside it. A process that opens the same file under another
 * name finds neither. Symbolic links are followed.
 */
function refuseSecondName(path: string): void {
  const file = statSync(path)
  // A folder is refused when it is opened.
  if (!file.isFile()) return
  const refuse = (why: string) => new Failure('stop', 'store_refuses', `the state ${path} ${why}`)
  if (file.nlink > 1)
    throw refuse(
      'has a second name (a hard link), under which another process would not see its lock: remove the other name',
    )
  if (mountPoints().has(realpathSync(path)))
    throw refuse('is mounted as a single file, so what belongs beside it is not shared: mount its folder')
}

/** Of this process; none where the system does not tell. */
function mountPoints(): ReadonlySet<string> {
  try {
    return mountPointsIn(readFileSync('/proc/self/mountinfo', 'utf8'))
  } catch {
    return new Set()
  }
}

/** Spaces, tabs, line ends and backslashes are written in octal there. */
export function mountPointsIn(mountinfo: string): ReadonlySet<string> {
  const points = mountinfo.split('\n').map((line) => line.split(' ')[4] ?? '')
  return new Set(
    points.map((point) =>
      point.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8))),
    ),
  )
}

/** Opens a store in the closest folder that exists, and removes it. Throws `store_refuses` where a run could keep none. */
export async function probeStateFile(path: string): Promise<void> {
  const trial = join(nearest(dirname(path)), `.shieldlog-check-${randomBytes(5).toString('hex')}.db`)
  try {
    prepareStateFile(trial)
    using database = await openDatabase(trial)
    await database.prepareStore()
  } catch (error) {
    throw error instanceof Error && error.cause !== undefined ? unwritable(path, error.cause) : error
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) if (existsSync(trial + end)) rmSync(trial + end)
  }
}

/** Level by level: where no folder can be made, such as in /proc, `recursive` would retry forever. */
function makeFolder(path: string): void {
  if (existsSync(path) || path === dirname(path)) return
  makeFolder(dirname(path))
  unlessThere(() => {
    mkdirSync(path, { mode: 0o700 })
    chmodSync(path, 0o700)
  })
}

function unlessThere(make: () => void): void {
  try {
    make()
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

/** One line with the path, its owner and mode, the user of this process, and the remedy. */
export function unwritable(path: string, error: unknown): Failure {
  const at = nearest(error instanceof Error && 'path' in error ? String(error.path) : path)
  const uid = process.getuid?.() ?? -1
  const isDenied = ['EACCES', 'EPERM'].includes(systemCode(error) ?? '')
  const { text: why, remedy: usual } = diskError(error, at)
  const remedy = isDenied ? `run \`chown ${uid} ${at}\`` : usual
  const { uid: owner, gid, mode } = statSync(at)
  const bits = (mode & 0o7777).toString(8).padStart(4, '0')
  const text =
    `cannot write the state at ${path}: ${why}: ${at} belongs to ${owner}:${gid} with mode ${bits}, ` +
    `this process runs as uid ${uid}; ${remedy}, or set \`state\` to another path`
  return new Failure('stop', 'store_refuses', text, { cause: error })
}
