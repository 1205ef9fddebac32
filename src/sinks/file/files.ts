import { constants, type Stats } from 'node:fs'
import { chmod, type FileHandle, lstat, mkdir, open, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { cancelled, Failure } from '../../domain/failure.ts'
import { diskError, syncFolder } from '../../disk.ts'
import { systemCode } from '../../domain/text/system-error.ts'

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants

/** Folder below the sink's path for the sink's own files. */
export const ownFolder = '.shieldlog'
/** In it: copies of what was cut. */
export const copiesFolder = `${ownFolder}/aside`

/**
 * The folder below the sink's path; undefined when it does not exist. Links of the path itself are resolved; throws
 * where a folder below it is a link or not a folder.
 */
export async function findFolder(path: string, below: string): Promise<string | undefined> {
  let folder = await realpath(resolve(path)).catch(absent)
  for (const name of below.split('/')) {
    if (folder === undefined) return undefined
    const next: string = join(folder, name)
    folder = (await isFolder(next)) ? next : undefined
  }
  return folder
}

/** Creates the sink's path and its missing parents. Returns the real path and the folders created. */
export async function makeRoot(path: string, dirMode: number): Promise<{ root: string; made: string[] }> {
  const made: string[] = []
  for (let at = resolve(path); (await stat(at).catch(absent)) === undefined; at = dirname(at))
    made.unshift(at)
  for (const folder of made) await makeFolder(folder, dirMode)
  const root = await realpath(resolve(path))
  if ((await stat(root)).isDirectory()) return { root, made }
  const why = `${root} is not a directory; set the path of the sink to a directory`
  throw new Failure('stop', 'unwritable', why)
}

/** Creates the folder below the root, level by level. Throws like `findFolder`. */
export async function makeFolders(root: string, below: string, dirMode: number): Promise<string> {
  let path = root
  for (const name of below.split('/')) {
    path = join(path, name)
    if (!(await isFolder(path))) await makeFolder(path, dirMode)
  }
  return path
}

/** Status of the path itself, without following links; undefined when nothing is there. */
export async function lookAt(path: string): Promise<Stats | undefined> {
  return await lstat(path).catch(absent)
}

async function makeFolder(path: string, dirMode: number): Promise<void> {
  try {
    await mkdir(path, { mode: dirMode })
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return
    throw error
  }
  await chmod(path, dirMode)
  await syncFolder(dirname(path))
}

async function isFolder(path: string): Promise<boolean> {
  const found = await lookAt(path)
  if (found === undefined || found.isDirectory()) return found !== undefined
  const why = found.isSymbolicLink()
    ? notFollowed(path)
    : `${path} is not a directory; replace it with a directory`
  throw new Failure('stop', 'unwritable', why)
}

export function absent(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT')) throw error
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes(systemCode(error) ?? '')
}

/** These and a full disk last until a person does something; any other error is tried again soon. */
const lasting = ['EROFS', 'EACCES', 'EPERM', 'ELOOP', 'ENOTDIR']

/** The work's result. Converts errors of the file system to Failures of one line that contains the remedy. */
export async function guarded<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw await fileFailure(error, path)
  }
}

export async function fileFailure(error: unknown, path: string): Promise<Failure> {
  if (error instanceof Failure) return error
  const isFull = hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')
  const kind = isFull || hasCode(error, ...lasting) ? 'stop' : 'retry'
  const { text, remedy } = diskError(error, path)
  let why = `cannot use ${path}: ${text}; ${remedy}`
  if (hasCode(error, 'EACCES', 'EPERM')) why = await refusalOf(path)
  if (hasCode(error, 'ELOOP')) why = notFollowed(path)
  return new Failure(kind, isFull ? 'disk_full' : 'unwritable', why, { cause: error })
}

function notFollowed(path: string): string {
  return `${path} is a symbolic link; the file sink does not follow links; replace it with a file or directory`
}

/** Whose the path is, or the nearest one above it that exists, and who may write there. */
async function refusalOf(path: string): Promise<string> {
  const uid = process.getuid?.() ?? -1
  let at = path
  while ((await lookAt(at).catch(() => undefined)) === undefined && dirname(at) !== at) at = dirname(at)
  const { mode, uid: owner, gid: group } = await stat(at)
  const bits = (mode & 0o7777).toString(8).padStart(4, '0')
  return (
    `cannot write ${path}: ${at} belongs to ${owner}:${group} with mode ${bits}, this process runs as uid ${uid}; ` +
    `run chown ${uid}:${process.getgid?.() ?? -1} ${at}, or start shieldlog as uid ${owner}`
  )
}

/** Writes all bytes, also when the system takes only a part of them per call. */
export async function writeAll(to: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await to.write(bytes, at, bytes.length - at)
    if (bytesWritten === 0) throw new Error('the file system accepts no more bytes and reports no error')
    at += bytesWritten
  }
}

/**
 * Writes the source to a file piece by piece, over one that exists, syncs it, and returns its size. Does not use a write
 * stream: with `autoClose` off it keeps a reference to the handle, and closing the handle would then wait for ever.
 */
export async function copyTo(
  path: string,
  { mode, openFile = open }: { readonly mode: number; readonly openFile?: typeof open },
  source: AsyncIterable<Buffer> | readonly Buffer[],
  signal?: AbortSignal,
): Promise<number> {
  const to = await openFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode)
  try {
    await to.chmod(mode)
    for await (const piece of source) {
      throwIfAborted(signal)
      await writeAll(to, piece)
    }
    await to.sync()
    return (await to.stat()).size
  } finally {
    await to.close()
  }
}

const lineBreak = 0x0a
const pieceBytes = 65_536

const writeBits = 0o222

/** A part that was cut is closed: it takes no further delivery, of any process. */
export function isClosed({ mode }: Stats): boolean {
  return (mode & writeBits) === 0
}

/**
 * Cuts a part that is longer, and closes it for ever. An agent that has read what is cut, and was down meanwhile, would
 * otherwise continue in the middle of other lines.
 */
export async function cutAndClose(handle: FileHandle, bytes: number): Promise<void> {
  const { mode } = await handle.stat()
  // Before the cut: a process that is killed in between leaves no part that was cut and is open. Of a part of another
  // user the mode may be fixed; it is cut all the same.
  await handle.chmod(mode & 0o7777 & ~writeBits).catch(() => undefined)
  await handle.truncate(bytes)
}

/** Cuts a part; one that is not longer stays as it is. */
export async function cutFile(path: string, bytes: number): Promise<void> {
  await reopen(path)
  await using handle = await openExisting(path, O_RDWR)
  if ((await handle.stat()).size > bytes) await cutAndClose(handle, bytes)
}

/** A process was killed after it had closed the part, and before it cut it. */
async function reopen(path: string): Promise<void> {
  await using handle = await openExisting(path, O_RDONLY)
  const stats = await handle.stat()
  if (isClosed(stats)) await handle.chmod((stats.mode & 0o7777) | 0o200)
}

/** Of so many bytes, those up to and including the last line break. */
export async function endOfWholeLines(path: string, bytes: number): Promise<number> {
  await using handle = await openExisting(path, O_RDONLY)
  const buffer = Buffer.alloc(pieceBytes)
  for (let end = bytes; end > 0; end -= pieceBytes) {
    const from = Math.max(0, end - pieceBytes)
    const { bytesRead } = await handle.read(buffer, 0, end - from, from)
    const last = buffer.subarray(0, bytesRead).lastIndexOf(lineBreak)
    if (last !== -1) return from + last + 1
  }
  return 0
}

/** Agents that know files neither by inode nor by path know them by about so many of their first bytes. */
export const headBytes = 1000

/** The first bytes of a file, each as a character. */
export async function headIn(path: string): Promise<string> {
  await using handle = await openExisting(path, O_RDONLY)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  return buffer.toString('latin1', 0, bytesRead)
}

/** No link, and no pipe to block on. */
export function openExisting(path: string, flags: number): Promise<FileHandle> {
  return open(path, flags | O_NOFOLLOW | O_NONBLOCK)
}

export type Jobs = ReturnType<typeof createJobs>

/** Runs the jobs on the files of one place one after another: a cut waits for the write before it, however that ends. */
export function createJobs() {
  const ends = new Map<string, Promise<void>>()
  return {
    run<T>(place: string, job: () => Promise<T>): Promise<T> {
      const work = (ends.get(place) ?? Promise.resolve()).then(job)
      const forget = () => {
        if (ends.get(place) === end) ends.delete(place)
      }
      // The next job also runs after a failed one; the failure goes to the caller of the failed job.
      const end = work.then(forget, forget)
      ends.set(place, end)
      return work
    },
    /** Resolves when no job is left. */
    async idle(): Promise<void> {
      await Promise.all(ends.values())
    },
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled(signal.reason)
}
