import { randomBytes } from 'node:crypto'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { syncFolder } from '../../disk.ts'
import { Failure } from '../../domain/failure.ts'
import { lockExclusively, resultCodeOf } from '../../sqlite/exclusive-lock.ts'
import { findFolder, ownFolder } from './files.ts'

/** A writer with the store and sink that its parts belong to: all three are in the name of its file. */
export interface Owner {
  readonly id: string
  readonly store: string
  readonly sink: string
}

/** A writer identity that no other process can take before this one disposes of it or ends. */
type HeldIdentity = Owner & Disposable

const pattern = /^([a-z0-9]+)\.([\w-]+)\.([\w-]+)\.writer$/
const maxTries = 10

function fileOf(root: string, { id, store, sink }: Owner): string {
  return join(root, ownFolder, `${id}.${store}.${sink}.writer`)
}

export type Owners = ReadonlyMap<string, Owner>

/** Every writer that has parts below a path, by its id. */
export async function ownersBelow(path: string): Promise<Owners> {
  const folder = await findFolder(path, ownFolder)
  const names = folder === undefined ? [] : await readdir(folder)
  return new Map(
    names.sort().flatMap((name) => {
      const [, id, store, sink] = pattern.exec(name) ?? []
      return id === undefined ? [] : [[id, { id, store: store!, sink: sink! }] as const]
    }),
  )
}

/**
 * Takes a free identity of a store and sink, or creates one. Identity files are kept, because part names refer to them,
 * and reused: an owner never has more of them than processes that once ran at the same time.
 */
export async function takeIdentity(
  root: string,
  own: Omit<Owner, 'id'>,
  mode: number,
): Promise<HeldIdentity> {
  for (const owner of (await ownersBelow(root)).values()) {
    const held = owner.store === own.store && owner.sink === own.sink ? holdIdentity(root, owner) : undefined
    if (held !== undefined) return held
  }
  for (let tries = 0; tries < maxTries; tries++) {
    const owner = { ...own, id: randomBytes(5).toString('hex') }
    // Not by SQLite, which does not say why a file cannot be created; closed before SQLite opens it.
    await writeFile(fileOf(root, owner), '', { flag: 'wx', mode })
    await chmod(fileOf(root, owner), mode)
    // After a crash of the host, parts of a writer without its file would be nobody's.
    await syncFolder(join(root, ownFolder))
    const held = holdIdentity(root, owner)
    // Where another process has taken the new one in between, it keeps it.
    if (held !== undefined) return held
  }
  throw new Failure(
    'stop',
    'unwritable',
    `cannot create and lock a writer file in ${join(root, ownFolder)}; check that its file system supports locks`,
  )
}

/** Locks a writer, to write or to cut its parts; undefined while another process holds it, or when its file is gone. */
export function holdIdentity(root: string, owner: Owner): HeldIdentity | undefined {
  const url = pathToFileURL(fileOf(root, owner))
  // With the default mode SQLite would create a deleted file again.
  url.searchParams.set('mode', 'rw')
  try {
    // Nothing is ever written, so no journal is needed.
    const release = lockExclusively(url, { pragmas: 'PRAGMA journal_mode = MEMORY' })
    return { ...owner, [Symbol.dispose]: release }
  } catch (error) {
    const [busy, corrupt, cannotOpen, notADatabase] = [5, 11, 14, 26]
    if ([busy, corrupt, cannotOpen, notADatabase].includes(resultCodeOf(error) ?? 0)) return undefined
    throw error
  }
}
