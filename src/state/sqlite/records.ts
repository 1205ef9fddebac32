import { resolve } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../ports/process.ts'
import {
  isTracked,
  type Changes,
  type Condition,
  type ReadRecords,
  type Records,
  type Write,
} from '../../ports/records.ts'
import { databaseIn, openDatabase, type Database, isMade, makeSchema } from './database.ts'
import { prepareStateFile } from './state-file.ts'

/** So that four records with their row headers fill a page of the database. Larger ones leave more of a page empty. */
const roomy = 980

/** Each step of clearing away takes some ms, and the event loop turns between them. */
const recordsAtOnce = 128
const pagesAtOnce = 256
/** Free pages of the database that stay in the file for the next day: 4 MiB. */
const sparePages = 1_024

export interface SqliteRecordsOptions {
  /** A file, relative to the working directory. */
  readonly path: string
  readonly clock: Clock
  /** False refuses a path without a store instead of making one there. */
  readonly create?: boolean
}

/** Opens the store, and makes it if there is none. Throws `store_refuses`. */
export async function openSqliteRecords(options: SqliteRecordsOptions): Promise<Records> {
  const { clock, create = true } = options
  const path = resolve(options.path)
  prepareStateFile(path, create)
  const database = await openDatabase(path)
  try {
    const isThere = await database.read(() => isMade(database))
    await database.configure()
    if (!isThere) await makeSchema(database)
  } catch (error) {
    database.close()
    throw error
  }
  return recordsIn(database, clock)
}

/** Records that end with the process. What several open on one handle, they share, as processes share a file. */
export async function openMemoryRecords(
  clock: Clock,
  handle = new DatabaseSync(':memory:'),
): Promise<Records> {
  const database = databaseIn(handle)
  await makeSchema(database)
  return recordsIn(database, clock)
}

function recordsIn(database: Database, clock: Clock): Records {
  const nowUs = (): number => Math.floor(clock.now() * 1_000)
  return {
    roomy,
    read: <Name extends string>(asked: Readonly<Record<Name, readonly string[]>>) =>
      database.read(() => {
        const collections = Object.entries<readonly string[]>(asked)
        const found = collections.map(([name, keys]) => [name, valuesOf(database, name, keys)] as const)
        return { nowUs: nowUs(), found: Object.fromEntries(found) as unknown as ReadRecords<Name>['found'] }
      }),
    async *scan(collection, atOnce) {
      const sql = `SELECT key, value FROM record WHERE collection = (${idOf}) AND key > ? ORDER BY key LIMIT ?`
      for (let after: string | undefined = ''; after !== undefined;) {
        const from: string = after
        const page = await database.read(() => rows<Page>(database, sql, collection, from, atOnce))
        yield page
        after = page.length < atOnce ? undefined : page.at(-1)?.[0]
        if (after !== undefined) await setImmediate()
      }
    },
    write(write) {
      return database.write(() => applyWrite(database, write, nowUs()), write.loosely)
    },
    changes: (collection, since) => database.read(() => changesOf(database, collection, since)),
    async reclaim() {
      while (await database.write(() => clear(database), true)) await setImmediate()
      while (await database.write(() => shrink(database), true)) await setImmediate()
    },
    close: async () => database.close(),
  }
}

type Page = (readonly [key: string, value: Uint8Array])[]

const idOf = 'SELECT id FROM collection WHERE name = ?'

/** Rows as lists of their columns. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows its own columns
function rows<Rows>(database: Database, sql: string, ...values: SQLInputValue[]): Rows {
  return database.prepare(sql).all(...values) as unknown as Rows
}

function run(database: Database, sql: string, ...values: SQLInputValue[]): number {
  return Number(database.prepare(sql).run(...values).changes)
}

function valueOf(database: Database, collection: string, key: string): Uint8Array | undefined {
  const sql = `SELECT value FROM record WHERE collection = (${idOf}) AND key = ?`
  return rows<[Uint8Array][]>(database, sql, collection, key)[0]?.[0]
}

function valuesOf(database: Database, collection: string, keys: readonly string[]) {
  if (keys.length < 4) return keys.map((key) => valueOf(database, collection, key))
  const sql = `SELECT key, value FROM record
    WHERE collection = (${idOf}) AND key IN (SELECT value FROM json_each(?))`
  const found = new Map(rows<Page>(database, sql, collection, JSON.stringify(keys)))
  return keys.map((key) => found.get(key))
}

const since2026 = Date.UTC(2026)

/**
 * A tracked collection with the change number that follows its latest one. It is at least the ms since 2026, so that a
 * store that was restored from an older state does not give a number that it gave already. Sums of a million of them
 * stay below 2^63.
 */
function nextIn(database: Database, name: string, nowUs: number) {
  const sql = `INSERT INTO collection (name, latest) VALUES (?, max(1, ?))
    ON CONFLICT DO UPDATE SET latest = max(latest + 1, excluded.latest) RETURNING id, latest`
  const atLeast = Math.floor(nowUs / 1_000) - since2026
  const [id, number] = rows<[id: number, latest: number][]>(database, sql, name, atLeast)[0]!
  return { id, number }
}

function untracked(database: Database, name: string) {
  const known = rows<[number][]>(database, idOf, name)[0]?.[0]
  if (known !== undefined) return { id: known, number: null }
  const sql = 'INSERT INTO collection (name) VALUES (?) RETURNING id'
  return { id: rows<[number][]>(database, sql, name)[0]![0], number: null }
}

/** The sum of all numbers, with this one for a key in place of the one that it has. */
function addToSum(database: Database, name: string, key: string, number: number): void {
  const sql = `UPDATE collection SET sum = sum + ? - coalesce(
    (SELECT number FROM record WHERE collection = collection.id AND key = ?), 0) WHERE name = ?`
  run(database, sql, number, key, name)
}

/** A whole write, or nothing and false where a condition does not hold. All that it puts in a collection shares a change number. */
function applyWrite(database: Database, write: Write, nowUs: number): boolean {
  const { when, add = [], drop = [], remove = [], put = [], append = [], stamp = [] } = write
  if (!when.every((each) => holds(each, valueOf(database, each.collection, each.key)))) return false
  const begun = new Map<string, { readonly id: number; readonly number: number | null }>()

  /** Makes the collection where there is none. */
  function begin(name: string) {
    const known = begun.get(name)
    if (known !== undefined) return known
    const collection = isTracked(name) ? nextIn(database, name, nowUs) : untracked(database, name)
    begun.set(name, collection)
    return collection
  }

  function putOne(name: string, key: string, value: Uint8Array): void {
    const { id, number } = begin(name)
    if (number !== null) addToSum(database, name, key, number)
    const sql = `INSERT INTO record (collection, key, value, number) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET value = excluded.value, number = excluded.number`
    run(database, sql, id, key, value, number)
  }

  for (const [name, key, by] of add)
    putOne(name, key, bytesOf(String(numberOf(valueOf(database, name, key)) + by)))
  // The row without a name keeps the records until they are cleared away.
  for (const name of drop) run(database, 'UPDATE collection SET name = NULL WHERE name = ?', name)
  for (const [name, key] of remove) {
    if (isTracked(name)) addToSum(database, name, key, 0)
    run(database, `DELETE FROM record WHERE collection = (${idOf}) AND key = ?`, name, key)
  }
  for (const [name, key, value] of put) putOne(name, key, bytesOf(value))
  for (const [name, key, more] of append) {
    const sql = `INSERT INTO record (collection, key, value) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET value = CAST(value || excluded.value AS BLOB)`
    run(database, sql, begin(name).id, key, more)
  }
  for (const [name, key] of stamp) putOne(name, key, bytesOf(String(nowUs)))
  return true
}

function holds(condition: Condition, value: Uint8Array | undefined): boolean {
  if ('atMost' in condition) return numberOf(value) <= condition.atMost
  const { is } = condition
  return value === undefined || is === undefined ? value === is : Buffer.compare(value, bytesOf(is)) === 0
}

function numberOf(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number(Buffer.from(value).toString())
}

function bytesOf(value: Uint8Array | string): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value
}

function changesOf(database: Database, name: string, since: number): Changes {
  const sql = 'SELECT id, latest, CAST(sum AS TEXT) FROM collection WHERE name = ?'
  const [known] = rows<[id: number, latest: number, sum: string][]>(database, sql, name)
  if (known === undefined) return { latest: 0, sum: 0n, changed: [] }
  const [id, latest, sum] = known
  const changed = 'SELECT key, number FROM record WHERE collection = ? AND number > ? ORDER BY number'
  return { latest, sum: BigInt(sum), changed: rows<[string, number][]>(database, changed, id, since) }
}

/** False when nothing of dropped collections is left. */
function clear(database: Database): boolean {
  const [dropped] = rows<[number][]>(database, 'SELECT id FROM collection WHERE name IS NULL LIMIT 1')
  if (dropped === undefined) return false
  const sql = 'DELETE FROM record WHERE rowid IN (SELECT rowid FROM record WHERE collection = ? LIMIT ?)'
  if (run(database, sql, dropped[0], recordsAtOnce) < recordsAtOnce)
    run(database, 'DELETE FROM collection WHERE id = ?', dropped[0])
  return true
}

/** Returns free pages to the file system. False when the file has no more of them than it may keep. */
function shrink(database: Database): boolean {
  const free = freePages(database)
  if (free <= sparePages) return false
  database.exec(`PRAGMA incremental_vacuum(${Math.min(pagesAtOnce, free - sparePages)})`)
  return freePages(database) < free
}

function freePages(database: Database): number {
  return rows<[number][]>(database, 'PRAGMA freelist_count')[0]![0]
}
