import { statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setImmediate as afterThisTurn } from 'node:timers'
import { setImmediate } from 'node:timers/promises'
import { Failure } from '../../domain/failure.ts'
import { isBusy, storeFailure } from './sqlite-failure.ts'

/** A wait for a lock blocks the event loop, so it is divided into short ones; together they last 6 s. */
const busyTimeoutMs = 250
const busyTries = 24

/**
 * One connection. `read` and `write` run synchronous work in a transaction and wait for other processes; they throw a
 * Failure, or a bug.
 */
export interface Database {
  readonly path: string
  /** Call it once, before anything else but reads. */
  configure(): Promise<void>
  /** A prepared statement, for use inside of work. It gives rows as lists of their columns. */
  prepare(sql: string): StatementSync
  /** Statements without values, inside of work. */
  exec(sql: string): void
  read<T>(work: () => T): Promise<T>
  /**
   * Durable when it resolves, unless `loosely`: such work does not wait for the disk, and a later write makes it
   * durable too. What comes here in one turn of the event loop shares a transaction, and one wait for the disk if any
   * of it needs one. Each work has its own result; an error fails all of them, and nothing is written.
   */
  write<T>(work: () => T, loosely?: boolean): Promise<T>
  /** May be called twice. */
  close(): void
}

/** Changes nothing in the file yet, which may belong to another program. */
export async function openDatabase(path: string, tries = busyTries): Promise<Database> {
  const handle = await attempt(path, tries, () => new DatabaseSync(path, { timeout: busyTimeoutMs }))
  const refuseMoved = createMoveGuard(path)
  const statements = createStatements(handle)
  const sync = createSync(handle)
  return {
    path,
    configure: () => attempt(path, tries, () => configure(handle, path)),
    ...statements,
    read: (work) => attempt(path, tries, () => transaction(handle, 'BEGIN', work)),
    write: createGroups((group) =>
      attempt(path, tries, () => {
        refuseMoved()
        const works = () => group.map(({ work }) => work())
        sync(group.every(({ loosely }) => loosely) ? 'NORMAL' : 'FULL')
        return transaction(handle, 'BEGIN IMMEDIATE', works)
      }),
    ),
    close() {
      if (handle.isOpen) handle.close()
    },
  }
}

/** A database that ends with the process. Its work is done at once: it waits for no disk and no other process. */
export function databaseIn(handle: DatabaseSync): Database {
  const path = 'memory'
  let isClosed = false
  const refuseClosed = (): void => {
    if (isClosed) throw new Failure('retry', 'store_unavailable', `the store ${path} is closed`)
  }
  return {
    path,
    configure: async () => undefined,
    ...createStatements(handle),
    async read(work) {
      refuseClosed()
      return work()
    },
    async write(work) {
      refuseClosed()
      return transaction(handle, 'BEGIN', work)
    },
    close: () => void (isClosed = true),
  }
}

function createStatements(handle: DatabaseSync): Pick<Database, 'prepare' | 'exec'> {
  const statements = new Map<string, StatementSync>()
  return {
    prepare(sql) {
      const known = statements.get(sql)
      if (known !== undefined) return known
      const statement = handle.prepare(sql)
      statement.setReturnArrays(true)
      statements.set(sql, statement)
      return statement
    },
    exec: (sql) => handle.exec(sql),
  }
}

function configure(handle: DatabaseSync, path: string): void {
  // Auto-vacuum can only be chosen before the first page is written, which the change to WAL does.
  handle.exec(`PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = INCREMENTAL`)
  if (handle.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode'] !== 'wal') {
    const text = `the file system of ${path} does not support a shared write-ahead log: set \`state\` to a path on a local disk`
    throw new Failure('stop', 'store_refuses', text)
  }
  handle.exec('PRAGMA journal_size_limit = 16777216')
}

interface Grouped {
  readonly work: () => unknown
  readonly loosely: boolean
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Hands over together what comes in one turn of the event loop, in its order. */
function createGroups(
  writeGroup: (group: readonly Grouped[]) => Promise<readonly unknown[]>,
): Database['write'] {
  let waiting: Grouped[] = []

  async function flush(): Promise<void> {
    const group = waiting
    waiting = []
    try {
      const results = await writeGroup(group)
      for (const [index, { resolve }] of group.entries()) resolve(results[index])
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  return <T>(work: () => T, loosely = false): Promise<T> =>
    new Promise<unknown>((resolve, reject) => {
      waiting.push({ work, loosely, resolve, reject })
      if (waiting.length === 1) afterThisTurn(() => void flush())
    }) as Promise<T>
}

/** Whether commits wait for the disk; most in a row are of one kind. */
function createSync(handle: DatabaseSync): (level: 'NORMAL' | 'FULL') => void {
  let known: string | undefined
  return (level) => {
    if (level !== known) handle.exec(`PRAGMA synchronous = ${level}`)
    known = level
  }
}

/** Refuses commits to a file that was removed or replaced under the open connection: no process would read them. */
function createMoveGuard(path: string): () => void {
  const identity = (): string | undefined => {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? undefined : `${found.dev}/${found.ino}`
  }
  const opened = identity()
  return () => {
    if (identity() === opened) return
    const remedy = 'put it back, or stop this process and start it again'
    throw new Failure(
      'stop',
      'store_refuses',
      `the store ${path} was moved or removed while in use: ${remedy}`,
    )
  }
}

function transaction<T>(handle: DatabaseSync, begin: string, work: () => T): T {
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

/** Makes the tables of a new store. */
export async function makeSchema(database: Database): Promise<void> {
  await database.write(() => {
    // Another process may have done it meanwhile.
    if (!isMade(database)) database.exec(layout)
  })
}

/** Whether the file is a store of this version; false for an empty one. Throws `store_refuses`, and changes nothing. */
export function isMade(database: Database): boolean {
  const figure = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0])
  const id = figure('PRAGMA application_id')
  const number = figure('PRAGMA user_version')
  if (id === 0 && number === 0 && figure('SELECT count(*) FROM sqlite_schema') === 0) return false
  if (id !== applicationId) {
    const text = `${database.path} is a database of another program: set \`state\` to another path`
    throw new Failure('stop', 'store_refuses', text)
  }
  if (number === schemaNumber) return true
  const text = `the store ${database.path} has schema ${number}, and this version supports only schema ${schemaNumber}`
  const remedy = 'run the version that made it, or set `state` to another path'
  throw new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
}
