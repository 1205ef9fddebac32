import { realpathSync, statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setImmediate as afterThisTurn } from 'node:timers'
import { setImmediate } from 'node:timers/promises'
import { Failure, messageOf, type FailureKind } from '../../domain/failure.ts'
import { resultCodeOf } from '../../sqlite/exclusive-lock.ts'

/** A wait for a lock blocks the event loop, so it is divided into short ones; together they last 6 s. */
const busyTimeoutMs = 250
const busyTries = 24

interface Grouped {
  readonly work: () => unknown
  readonly loosely: boolean
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

export type Database = ReturnType<typeof databaseOn>

/** Changes nothing in the file yet, which may belong to another program. */
export async function openDatabase(path: string, tries = busyTries): Promise<Database> {
  const handle = await attempt(path, tries, () => new DatabaseSync(path, { timeout: busyTimeoutMs }))
  return databaseOn(handle, path, tries, fileAt(path))
}

/**
 * One connection. `read` and `write` run synchronous work in a transaction and wait for other processes; they throw a
 * Failure, or a bug. Without a file, in memory, work is done at once: it waits for no disk and no other process.
 */
export function databaseOn(handle: DatabaseSync, path = 'memory', tries = 1, file?: string) {
  const statements = new Map<string, StatementSync>()
  let waiting: Grouped[] = []
  /** Whether commits wait for the disk; most in a row are of one kind. */
  let synchronous = ''
  let isClosed = false
  /** The log and its index, which stay the same files as long as this connection is open. */
  let logs: readonly { readonly place: string; readonly at: string | undefined }[] = []

  /** A prepared statement, for use inside of work. It gives rows as lists of their columns. */
  function prepare(sql: string): StatementSync {
    const before = statements.get(sql)
    if (before !== undefined) return before
    const statement = handle.prepare(sql)
    statement.setReturnArrays(true)
    statements.set(sql, statement)
    return statement
  }

  /** Nobody would read what is written to a file that was removed or replaced under the open connection. */
  function refuseReplaced(): void {
    if (fileAt(path) !== file) {
      const text = `the state ${path} was moved or removed while in use`
      throw refusal(`${text}: put it back, or stop this process and start it again`)
    }
    const lost = logs.find(({ place, at }) => fileAt(place) !== at)
    if (lost === undefined) return
    const text = `${lost.place}, which the state ${path} needs, was removed or replaced while in use`
    throw refusal(`${text}: stop this process, which writes what it holds to the state, and start it again`)
  }

  function transaction<T>(begin: string, work: () => T): T {
    if (isClosed) throw new Failure('retry', 'store_unavailable', `the state ${path} is closed`)
    if (file !== undefined) refuseReplaced()
    handle.exec(begin)
    try {
      const result = work()
      handle.exec('COMMIT')
      return result
    } catch (error) {
      // SQLite has rolled back by itself after some errors (full disk, I/O).
      if (handle.isTransaction) handle.exec('ROLLBACK')
      throw error
    }
  }

  async function flush(): Promise<void> {
    const group = waiting
    waiting = []
    try {
      const results = await attempt(path, tries, () => {
        const level = group.every(({ loosely }) => loosely) ? 'NORMAL' : 'FULL'
        if (level !== synchronous && !isClosed) handle.exec(`PRAGMA synchronous = ${level}`)
        synchronous = level
        return transaction('BEGIN IMMEDIATE', () => group.map(({ work }) => work()))
      })
      for (const [index, { resolve }] of group.entries()) resolve(results[index])
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  function read<T>(work: () => T): Promise<T> {
    return attempt(path, tries, () => transaction('BEGIN', work))
  }

  /**
   * Durable when it resolves, unless `loosely`: such work does not wait for the disk, and a later write makes it
   * durable too. What comes here in one turn of the event loop shares a transaction, and one wait for the disk if any
   * of it needs one. Each work has its own result; an error fails all of them, and nothing is written.
   */
  function write<T>(work: () => T, loosely = false): Promise<T> {
    if (file === undefined) return read(work)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (waiting.push({ work, loosely, resolve, reject }) === 1) afterThisTurn(() => void flush())
    return promise as Promise<T>
  }

  /** Whether the file is a store of this version; false for an empty one. */
  function isStore(): boolean {
    const figure = (sql: string) => Number(Object.values(prepare(sql).get() ?? {})[0])
    const id = figure('PRAGMA application_id')
    const number = figure('PRAGMA user_version')
    if (id === 0 && number === 0 && figure('SELECT count(*) FROM sqlite_schema') === 0) return false
    if (id !== applicationId)
      throw refusal(`${path} is a database of another program: set \`state\` to another path`)
    if (number === schemaNumber) return true
    const text = `the state ${path} has schema ${number}, and this version supports only schema ${schemaNumber}`
    throw refusal(`${text}: run the version that made it, or set \`state\` to another path`)
  }

  return {
    prepare,
    /** Statements without values, inside of work. */
    exec: (sql: string): void => handle.exec(sql),
    read,
    write,
    /** Makes the tables of a new store. Throws `store_refuses` for another file, and where it cannot be written. */
    async prepareStore(): Promise<void> {
      // Before anything is changed in a file that may belong to another program.
      const isThere = await read(isStore)
      if (file !== undefined) await attempt(path, tries, () => useLog(handle, path, isThere))
      await write(() => isStore() || handle.exec(layout))
      if (file !== undefined) logs = logsOf(path).map((place) => ({ place, at: fileAt(place) }))
    },
    /** May be called twice. */
    [Symbol.dispose](): void {
      if (file !== undefined && !isClosed) handle.close()
      isClosed = true
    },
  }
}

function useLog(handle: DatabaseSync, path: string, isThere: boolean): void {
  // Auto-vacuum can only be chosen before the first page is written, which the change to WAL does.
  // In a store that is there it would write a page, and a full disk takes none: it can be read all the same.
  if (!isThere) handle.exec(`PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = INCREMENTAL`)
  const [mode] = Object.values(handle.prepare('PRAGMA journal_mode = WAL').get() ?? {})
  if (mode !== 'wal') {
    const text = `the file system of ${path} does not support a shared write-ahead log`
    throw refusal(`${text}: set \`state\` to a path on a local disk`)
  }
  handle.exec('PRAGMA journal_size_limit = 16777216')
}

/** SQLite names them after the file that a link leads to. */
export function logsOf(path: string): readonly string[] {
  return ['-wal', '-shm'].map((end) => realpathSync(path) + end)
}

/** Device and number of a file; undefined where there is none. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}/${found.ino}`
}

/** Repeats work that found a lock, and lets the event loop turn in between. */
async function attempt<T>(path: string, tries: number, work: () => T): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || count >= tries) throw storeFailure(error, path)
    }
    await setImmediate()
  }
}

/** The schema that this version reads and writes. */
export const schemaNumber = 9

/** Marks a database file as a store ("shld"), so that a foreign one is never altered. */
const applicationId = 0x73_68_6c_64

/**
 * Records have row ids: with the primary key as the table's own order, records of 980 bytes in no order took 11.1 bytes
 * an event in place of 9.8, and commits twice the time. A collection that was dropped has no name, and its records are
 * cleared away later. `number`: of the latest change, in a tracked collection.
 */
const layout = `
CREATE TABLE collection (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  latest INTEGER NOT NULL DEFAULT 0,
  sum INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE record (
  collection INTEGER NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  number INTEGER,
  PRIMARY KEY (collection, key)
);
CREATE INDEX record_number ON record (collection, number) WHERE number IS NOT NULL;
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaNumber};
`

export function refusal(text: string): Failure {
  return new Failure('stop', 'store_refuses', text)
}

type Answer = readonly [kind: FailureKind, remedy: string]

const locked: Answer = ['retry', 'another process kept it locked']
const denied: Answer = [
  'stop',
  'make it a file that this process may write, with its folder and its -wal and -shm files',
]

/** By the primary result code of SQLite. */
const answers: Readonly<Record<number, Answer>> = {
  3: denied,
  5: locked,
  6: locked,
  7: ['retry', 'the process is out of memory'],
  8: denied,
  9: ['retry', 'the call was interrupted'],
  10: ['retry', 'check the disk'],
  11: ['stop', 'stop every shieldlog process, then restore it from a backup or move it away'],
  13: ['stop', 'free space on its disk'],
  14: denied,
  15: locked,
  22: ['stop', 'move it to a file system that allows files of this size'],
  23: denied,
  26: ['stop', 'set `state` to another path, or move this file away'],
}

/** True when another connection holds a lock that this one needs. */
export function isBusy(error: unknown): boolean {
  return answers[resultCodeOf(error) ?? 0] === locked
}

/** Converts an error of SQLite to a Failure. Returns any other value unchanged: a Failure already, or a bug. */
export function storeFailure(error: unknown, path: string): unknown {
  const answer = answers[resultCodeOf(error) ?? 0]
  if (answer === undefined) return error
  const [kind, remedy] = answer
  const text = `the state ${path} failed (${messageOf(error)}): ${remedy}`
  return new Failure(kind, kind === 'stop' ? 'store_refuses' : 'store_unavailable', text, { cause: error })
}
