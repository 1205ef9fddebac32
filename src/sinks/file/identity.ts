import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Failure } from '../../domain/failure.ts'
import { hasCode } from './file-failure.ts'

/** Whose parts a writer's are. */
export interface Owner {
  readonly store: string
  readonly sink: string
}

/** A writer's identity that no other process has while this one lives and has not released it. */
export interface HeldIdentity {
  readonly id: string
  release(): void
}

const suffix = '.writer'
const maxTries = 1000

/**
 * Takes a free identity of this owner, or makes one. Identities are kept, since parts are told apart by them, and taken
 * again: there are never more of one owner than processes that once ran at the same time.
 */
export async function takeIdentity(folder: string, owner: Owner, mode: number): Promise<HeldIdentity> {
  for (const id of await listIdentities(folder)) {
    const found = ownerOf(folder, id)
    // A file without a row is nobody's: its parts, if there are any, may be another store's.
    if (found === undefined || found.store !== owner.store || found.sink !== owner.sink) continue
    const held = hold(folder, id)
    if (held !== undefined) return held
  }
  for (let tries = 0; tries < maxTries; tries++) {
    const id = await makeIdentity(folder, mode)
    const held = id === undefined ? undefined : hold(folder, id, owner)
    if (held !== undefined) return held
  }
  throw new Failure('stop', 'unwritable', `no writer's file can be made and locked under ${folder}`)
}

/** Holds another writer's identity while its parts are cut; undefined while it lives, or when its file is missing. */
export function holdIdentity(folder: string, id: string): HeldIdentity | undefined {
  return ownerOf(folder, id) === undefined ? undefined : hold(folder, id)
}

/**
 * Undefined when the file is missing or holds nothing (its maker died at once). Reads past the lock (`immutable`),
 * which is sound because the one row is written before the first part and never again.
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

/**
 * The lock is an exclusive transaction that stays open: the kernel drops it with its process, however that dies.
 * Undefined while another has it. A file just made gets its owner written.
 */
function hold(folder: string, id: string, owner?: Owner): HeldIdentity | undefined {
  let database: DatabaseSync | undefined
  try {
    const url = pathToFileURL(join(folder, id + suffix))
    // Without it a file that was deleted meanwhile would be made anew, empty.
    url.searchParams.set('mode', 'rw')
    database = new DatabaseSync(url)
    // The row is written once, before there is any part: no journal file need survive to bring it back.
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = FULL; BEGIN EXCLUSIVE')
    if (owner !== undefined) writeOwner(database, owner)
    return heldBy(database, id)
  } catch (error) {
    database?.close()
    if (isTaken(error)) return undefined
    throw error
  }
}

function writeOwner(database: DatabaseSync, owner: Owner): void {
  database.exec('CREATE TABLE writer (store TEXT NOT NULL, sink TEXT NOT NULL)')
  database.prepare('INSERT INTO writer (store, sink) VALUES (?, ?)').run(owner.store, owner.sink)
  // Another process may take the lock in between: then it keeps this identity, and the caller makes another.
  database.exec('COMMIT; BEGIN EXCLUSIVE')
}

function heldBy(database: DatabaseSync, id: string): HeldIdentity {
  let released = false
  return {
    id,
    release() {
      if (released) return
      released = true
      database.close()
    },
  }
}

/** Locked by another, or (by SQLite's primary result code, the low byte) gone or damaged: not ours either way. */
function isTaken(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  const [busy, corrupt, cannotOpen, notADatabase] = [5, 11, 14, 26]
  return [busy, corrupt, cannotOpen, notADatabase].includes(error.errcode & 0xff)
}
