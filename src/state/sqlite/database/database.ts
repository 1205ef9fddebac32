import { statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setImmediate as afterThisTurn } from 'node:timers'
import { setImmediate } from 'node:timers/promises'
import { Failure } from '../../../domain/failure.ts'
import { isBusy, storeFailure } from './sqlite-failure.ts'

/** A wait for a lock blocks the event loop, so it is divided into short ones; together they last 6 s. */
const busyTimeoutMs = 250
const busyTries = 24

/**
 * One connection. `read` and `write` run synchronous work in one transaction and wait for other processes; they throw a
 * Failure, or a bug. `one`, `all` and `run` are for use inside of such work.
 */
export interface Database {
  readonly path: string
  /** Call it once, before anything else but reads. */
  configure(): Promise<void>
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows its own columns
  one<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[]
  /** Returns how many rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number
  /** Several statements without values. */
  script(sql: string): void
  read<T>(work: () => T): Promise<T>
  /** Durable when it resolves. */
  write<T>(work: () => T): Promise<T>
  /**
   * Like `write`, in one transaction, and one wait for the disk, with whatever else comes here in the same turn of the
   * event loop. Each work is written whole or not at all, and has its own result. `isLoose`, inside of a read: a power
   * cut may lose this work.
   */
  writeTogether<T>(work: () => T, isLoose: () => boolean): Promise<T>
  /** For writes that a power cut may lose: does not wait for the disk. A later `write` makes them durable too. */
  writeLoosely<T>(work: () => T): Promise<T>
  /** May be called twice. */
  close(): void
}

/** Changes nothing in the file yet, which may belong to another program. */
export async function openDatabase(path: string, tries = busyTries): Promise<Database> {
  const handle = await attempt(path, tries, () => new DatabaseSync(path, { timeout: busyTimeoutMs }))
  return createDatabase(path, handle, tries)
}

function configure(handle: DatabaseSync, path: string): void {
  // Auto-vacuum can only be chosen before the first page is written, which the change to WAL does.
  handle.exec('PRAGMA auto_vacuum = INCREMENTAL')
  const mode = handle.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (mode !== 'wal' && mode !== 'memory') {
    const text = `the file system of ${path} does not support a shared write-ahead log: set \`state\` to a path on a local disk`
    throw new Failure('stop', 'store_refuses', text)
  }
  handle.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216')
}

function createDatabase(path: string, handle: DatabaseSync, tries: number): Database {
  const refuseMoved = createMoveGuard(path)
  const statements = new Map<string, StatementSync>()
  const statement = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const made = handle.prepare(sql)
    statements.set(sql, made)
    return made
  }
  const write = <T>(work: () => T): T => {
    refuseMoved()
    return transaction(handle, 'BEGIN IMMEDIATE', work)
  }
  const together = createGroups((group) =>
    attempt(path, tries, () => {
      const works = () => group.map(({ work }) => savepoint(handle, path, work))
      const isLoose = transaction(handle, 'BEGIN', () => group.every((each) => each.isLoose()))
      return isLoose ? unsynced(handle, () => write(works)) : write(works)
    }),
  )
  return {
    path,
    configure: () => attempt(path, tries, () => configure(handle, path)),
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows its own columns
    one: <Row>(sql: string, ...values: SQLInputValue[]) => statement(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: SQLInputValue[]) => statement(sql).all(...values) as Row[],
    run: (sql, ...values) => Number(statement(sql).run(...values).changes),
    script: (sql) => handle.exec(sql),
    read: (work) => attempt(path, tries, () => transaction(handle, 'BEGIN', work)),
    write: (work) => attempt(path, tries, () => write(work)),
    writeTogether: together,
    writeLoosely: (work) => attempt(path, tries, () => unsynced(handle, () => write(work))),
    close() {
      statements.clear()
      if (handle.isOpen) handle.close()
    },
  }
}

interface Grouped<T> {
  readonly work: () => T
  readonly isLoose: () => boolean
}

type Result<T> = { readonly value: T } | { readonly error: unknown }

/** Hands over together what comes in one turn of the event loop, in its order. */
function createGroups(
  writeGroup: (group: readonly Grouped<unknown>[]) => Promise<readonly Result<unknown>[]>,
): Database['writeTogether'] {
  let waiting: (Grouped<unknown> & { readonly settle: (result: Result<unknown>) => void })[] = []

  async function flush(): Promise<void> {
    const group = waiting
    waiting = []
    const results = await writeGroup(group).catch((error: unknown) => group.map(() => ({ error })))
    for (const [index, { settle }] of group.entries()) settle(results[index]!)
  }

  return async <T>(work: () => T, isLoose: () => boolean): Promise<T> => {
    const result = await new Promise<Result<unknown>>((settle) => {
      waiting.push({ work, isLoose, settle })
      if (waiting.length === 1) afterThisTurn(() => void flush())
    })
    if ('error' in result) throw result.error
    return result.value as T
  }
}

/** One work of several in a transaction. Throws an error that ends the whole transaction. */
function savepoint<T>(handle: DatabaseSync, path: string, work: () => T): Result<T> {
  handle.exec('SAVEPOINT work')
  try {
    const value = work()
    handle.exec('RELEASE work')
    return { value }
  } catch (error) {
    // SQLite has rolled back everything by itself after some errors (full disk, I/O).
    if (isBusy(error) || !handle.isTransaction) throw error
    handle.exec('ROLLBACK TO work; RELEASE work')
    return { error: storeFailure(error, path) }
  }
}

function unsynced<T>(handle: DatabaseSync, write: () => T): T {
  handle.exec('PRAGMA synchronous = NORMAL')
  try {
    return write()
  } finally {
    handle.exec('PRAGMA synchronous = FULL')
  }
}

/** Refuses commits to a file that was removed or replaced under the open connection: no process would read them. */
function createMoveGuard(path: string): () => void {
  if (path === ':memory:') return () => {}
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
