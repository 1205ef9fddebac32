import { constants, type Stats } from 'node:fs'
import { chmod, lstat, mkdir, open, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Failure } from '../../domain/failure.ts'
import { hasCode } from './file-failure.ts'

/** Folder below the sink's path for the sink's own files. */
export const ownFolder = '.shieldlog'

/** The sink's path with links resolved once; below it no link is followed. Undefined when the path does not exist. */
export async function findRoot(path: string): Promise<string | undefined> {
  try {
    return await realpath(resolve(path))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Creates the sink's path and its missing parents. Returns the real path and the folders created. */
export async function makeRoot(path: string, dirMode: number): Promise<{ root: string; made: string[] }> {
  const missing: string[] = []
  let existing = resolve(path)
  while (!(await exists(existing))) {
    missing.unshift(existing)
    existing = dirname(existing)
  }
  for (const folder of missing) await makeFolder(folder, dirMode)
  const root = await realpath(resolve(path))
  if (!(await stat(root)).isDirectory())
    throw new Failure(
      'stop',
      'unwritable',
      `${root} is not a directory; set the path of the sink to a directory`,
    )
  return { root, made: missing }
}

/** Creates the folder below the root, level by level. Throws if a part of the path is a link or not a folder. */
export async function makeFolders(
  root: string,
  folders: readonly string[],
  dirMode: number,
): Promise<string> {
  let path = root
  for (const folder of folders) {
    path = join(path, folder)
    if ((await realFolder(path)) !== undefined) continue
    await makeFolder(path, dirMode)
    await realFolder(path)
  }
  return path
}

/** The folder below the root; undefined when it does not exist. Throws like `makeFolders`. */
export async function findFolder(root: string, folders: readonly string[]): Promise<string | undefined> {
  let path = root
  for (const folder of folders) {
    path = join(path, folder)
    if ((await realFolder(path)) === undefined) return undefined
  }
  return path
}

/** Syncs a folder: otherwise a crash of the host may lose a new file name although the file's bytes were synced. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } catch (error) {
    // Some network file systems sync names by themselves and refuse the call.
    if (!hasCode(error, 'EINVAL', 'ENOTSUP')) throw error
  } finally {
    await handle.close()
  }
}

/** Status of the path itself, without following links; undefined when nothing is there. */
export async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
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

async function realFolder(path: string): Promise<Stats | undefined> {
  const found = await lookAt(path)
  if (found === undefined || found.isDirectory()) return found
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'not a directory'
  throw new Failure(
    'stop',
    'unwritable',
    `${path} is ${what}; the file sink does not follow links; replace it with a directory`,
  )
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}
