import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Failure } from '../../domain/failure.ts'
import { lockExclusively, resultCodeOf } from '../../sqlite/exclusive-lock.ts'
import { fileFailure, findFolder, hasCode, ownFolder } from './files.ts'
import { parsePartName } from './parts.ts'
import type { PartsOwner } from '../../ports/delivery.ts'

/** The store and sink that a writer's parts belong to. */
export interface Owner {
  readonly store: string
  readonly sink: string
}

/** A writer identity that no other process can take before this one releases it or ends. */
export interface HeldIdentity {
  readonly id: string
  release(): void
}

const suffix = '.writer'
const maxTries = 1000

/**
 * Takes a free identity of this owner, or creates one. Identity files are kept, because part names refer to them, and
 * reused: an owner never has more of them than processes that once ran at the same time.
 */
export async function takeIdentity(folder: string, owner: Owner, mode: number): Promise<HeldIdentity> {
  for (const id of await listIdentities(folder)) {
    const found = ownerOf(folder, id)
    // A file without a row has no known owner: its parts, if any, may belong to another store.
    if (found === undefined || found.store !== owner.store || found.sink !== owner.sink) continue
    const held = hold(folder, id)
    if (held !== undefined) return held
  }
  for (let tries = 0; tries < maxTries; tries++) {
    const id = await makeIdentity(folder, mode)
    const held = id === undefined ? undefined : hold(folder, id, owner)
    if (held !== undefined) return held
  }
  throw new Failure(
    'stop',
    'unwritable',
    `cannot create and lock a writer file in ${folder}; check that its file system supports locks`,
  )
}

/** Locks another writer's identity to cut its parts; undefined while it lives or when its file is gone. */
export function holdIdentity(folder: string, id: string): HeldIdentity | undefined {
  return ownerOf(folder, id) === undefined ? undefined : hold(folder, id)
}

/**
 * Undefined when the file is missing or empty (its creator died at once). Reads without the lock (`immutable`), which
 * is safe because the single row is written before the first part and never changes.
 */
export function ownerOf(folder: string, id: string): Owner | undefined {
  const url = pathToFileURL(join(folder, id + suffix))
  url.searchParams.set('immutable', '1')
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(url, { readOnly: true })
    const row = database.prepare('SELECT store, sink FROM writer').get()
    return row === undefined ? undefined : { store: String(row['store']), sink: String(row['sink']) }
  } catch {
    return undefined
  } finally {
    database?.close()
  }
}

/**
 * A sink of the same store that has written parts below a path, other than one of these names; undefined where there is
 * none. Throws Failure.
 */
export async function otherSinkOn(path: string, own: PartsOwner): Promise<string | undefined> {
  try {
    const folder = await findFolder(path, ownFolder)
    const others = new Map<string, string>()
    for (const id of folder === undefined ? [] : await listIdentities(folder)) {
      const owner = ownerOf(folder!, id)
      if (owner?.store === own.store && !own.names.includes(owner.sink)) others.set(id, owner.sink)
    }
    if (others.size === 0) return undefined
    for await (const name of filesOfZones(path)) {
      const other = others.get(parsePartName(name)?.writer ?? '')
      if (other !== undefined) return other
    }
    return undefined
  } catch (error) {
    throw await fileFailure(error, path)
  }
}

/** Only what is in folders of zones and days: others, such as `lost+found`, may be closed to this process. */
async function* filesOfZones(path: string): AsyncGenerator<string> {
  for (const zone of await foldersIn(path, 'zone='))
    for (const day of await foldersIn(zone, 'day=')) yield* await readdir(day)
}

/** The folders whose names begin so, without links. */
export async function foldersIn(path: string, prefix: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory() && entry.name.startsWith(prefix))
    .map(({ name }) => join(path, name))
}

async function listIdentities(folder: string): Promise<string[]> {
  const names = await readdir(folder, { withFileTypes: true })
  return names
    .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
    .map((entry) => entry.name.slice(0, -suffix.length))
    .sort()
}

async function makeIdentity(folder: string, mode: number): Promise<string | undefined> {
  const id = randomBytes(5).toString('hex')
  const path = join(folder, id + suffix)
  try {
    const { O_CREAT, O_EXCL, O_WRONLY } = constants
    const handle = await open(path, O_CREAT | O_EXCL | O_WRONLY, mode)
    // Closed before SQLite opens it: closing any descriptor of a file drops the locks that the process has on it.
    await handle.close()
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return undefined
    throw error
  }
  await chmod(path, mode)
  return id
}

/** Undefined while another process holds it. Writes the owner into a new file. */
function hold(folder: string, id: string, owner?: Owner): HeldIdentity | undefined {
  const url = pathToFileURL(join(folder, id + suffix))
  // With the default mode SQLite would create a deleted file again, empty.
  url.searchParams.set('mode', 'rw')
  try {
    const lock = lockExclusively(url, {
      // The row is written once, before any part exists, so no journal file is needed for recovery.
      pragmas: 'PRAGMA journal_mode = MEMORY; PRAGMA synchronous = FULL',
      // Where another process takes the lock in between, it keeps this identity and the caller creates another.
      ...(owner !== undefined && { write: (database: DatabaseSync) => writeOwner(database, owner) }),
    })
    return { id, release: () => lock.release() }
  } catch (error) {
    if (isTaken(error)) return undefined
    throw error
  }
}

function writeOwner(database: DatabaseSync, owner: Owner): void {
  database.exec('CREATE TABLE writer (store TEXT NOT NULL, sink TEXT NOT NULL)')
  database.prepare('INSERT INTO writer (store, sink) VALUES (?, ?)').run(owner.store, owner.sink)
}

/** Locked by another process, or gone or damaged: unusable. */
function isTaken(error: unknown): boolean {
  const [busy, corrupt, cannotOpen, notADatabase] = [5, 11, 14, 26]
  return [busy, corrupt, cannotOpen, notADatabase].includes(resultCodeOf(error) ?? 0)
}
