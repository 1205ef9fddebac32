import { resolve } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../ports/process.ts'
import type { Changes, ReadRecords, Records, Write, Written } from '../../ports/records.ts'
import { isTracked, nextNumber } from '../tracked.ts'
import { openDatabase, type Database } from './database.ts'
import { prepareStateFile } from './state-file.ts'
import { checkSchema, ensureSchema } from './schema.ts'

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
    await checkSchema(database)
    await database.configure()
    await ensureSchema(database)
  } catch (error) {
    database.close()
    throw error
  }
  const nowUs = (): number => Math.floor(clock.now() * 1_000)
  return {
    roomy,
    read: <Name extends string>(asked: Readonly<Record<Name, readonly string[]>>) =>
      database.read(() => {
        const collections = Object.entries<readonly string[]>(asked)
        const found = collections.map(([name, keys]) => [name, valuesOf(database, name, keys)] as const)
        return { nowUs: nowUs(), found: Object.fromEntries(found) as unknown as ReadRecords<Name>['found'] }
      }),
    readRuns: (collection, keys) => database.read(() => runsOf(database, collection, keys)),
    async *scan(collection, atOnce) {
      const sql = `SELECT key, value FROM record WHERE collection = (${idOf}) AND key > ? ORDER BY key LIMIT ?`
      let page: Page = []
      do {
        const after = page.at(-1)?.[0] ?? ''
        page = await database.read(() => rows<Page>(database, sql, collection, after, atOnce))
        yield page
        await setImmediate()
      } while (page.length === atOnce)
    },
    write: (write) => database.write(() => apply(database, write, nowUs()), write.loosely),
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
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement.all(...values) as Rows
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

/** One range for each run: what follows a full stop sorts between the key and the key with a slash. */
function runsOf(database: Database, collection: string, keys: readonly string[]): Uint8Array[][] {
  const sql = `SELECT asked.key, record.key, record.value FROM json_each(?) AS asked CROSS JOIN record
    WHERE collection = (${idOf}) AND record.key >= asked.value AND record.key < asked.value || '/'`
  const found = rows<[number, string, Uint8Array][]>(database, sql, JSON.stringify(keys), collection)
  const runs = keys.map((): Uint8Array[] => [])
  for (const [at, key, value] of found) {
    const asked = keys[at]!
    const place = key === asked ? 0 : Number(key.slice(asked.length + 1))
    runs[at]![place] = value
  }
  return runs.map(untilAbsent)
}

function untilAbsent(run: Uint8Array[]): Uint8Array[] {
  const end = run.findIndex((value: Uint8Array | undefined) => value === undefined)
  return end < 0 ? run : run.slice(0, end)
}

/** Everything that may refuse the write is asked before anything is written. */
function apply(database: Database, write: Write, nowUs: number): Written {
  const { when, add = [], drop = [], remove = [], put = [], append = [], stamp = [] } = write
  for (const { collection, key, is } of when)
    if (!isSame(valueOf(database, collection, key), is)) return { outcome: 'changed', nowUs }
  const sums = add.map(({ collection, key, by, most = Infinity }) => {
    const sum = Number(Buffer.from(valueOf(database, collection, key) ?? [0x30]).toString()) + by
    return { collection, key, sum, isOver: by > 0 && sum > most }
  })
  const over = sums.find(({ isOver }) => isOver)
  if (over !== undefined) return { outcome: 'over', nowUs, sum: over.sum }

  const putter = createPutter(database, nowUs)
  for (const { collection, key, sum } of sums) putter(collection, key, String(sum))
  for (const collection of drop) dropCollection(database, collection)
  for (const [collection, key] of remove) removeRecord(database, collection, key)
  for (const [collection, key, value] of put) putter(collection, key, value)
  for (const [collection, key, bytes] of append) appendTo(database, collection, key, bytes)
  for (const [collection, key] of stamp) putter(collection, key, String(nowUs))
  return { outcome: 'done', nowUs }
}

interface CollectionRow {
  readonly id: number
  readonly latest: number
}

/** Makes the collection where there is none. */
function collectionOf(database: Database, name: string): CollectionRow {
  const sql = 'SELECT id, latest FROM collection WHERE name = ?'
  const [known] = rows<[id: number, latest: number][]>(database, sql, name)
  if (known !== undefined) return { id: known[0], latest: known[1] }
  run(database, 'INSERT INTO collection (name) VALUES (?)', name)
  return collectionOf(database, name)
}

/** Puts the records of one write, which share a change number. */
function createPutter(database: Database, nowUs: number) {
  const collections = new Map<string, { readonly id: number; readonly number: number | null }>()
  const begin = (name: string) => {
    const { id, latest } = collectionOf(database, name)
    const number = isTracked(name) ? nextNumber(latest, nowUs / 1_000) : null
    if (number !== null) run(database, 'UPDATE collection SET latest = ? WHERE id = ?', number, id)
    const begun = { id, number }
    collections.set(name, begun)
    return begun
  }
  return (name: string, key: string, value: Uint8Array | string): void => {
    const { id, number } = collections.get(name) ?? begin(name)
    if (number !== null) {
      const sql = 'SELECT number FROM record WHERE collection = ? AND key = ?'
      const [before] = rows<[number][]>(database, sql, id, key)
      addToSum(database, id, number - (before?.[0] ?? 0))
    }
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    const sql = `INSERT INTO record (collection, key, value, number) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET value = excluded.value, number = excluded.number`
    run(database, sql, id, key, bytes, number)
  }
}

function addToSum(database: Database, id: number, growth: number): void {
  run(database, 'UPDATE collection SET sum = sum + ? WHERE id = ?', growth, id)
}

/** The row without a name keeps the records until they are cleared away. The next change number stays the next. */
function dropCollection(database: Database, name: string): void {
  const sql = 'UPDATE collection SET name = NULL WHERE name = ? RETURNING latest'
  const [dropped] = rows<[number][]>(database, sql, name)
  if (dropped !== undefined && dropped[0] > 0)
    run(database, 'INSERT INTO collection (name, latest) VALUES (?, ?)', name, dropped[0])
}

function removeRecord(database: Database, name: string, key: string): void {
  const sql = `DELETE FROM record WHERE collection = (${idOf}) AND key = ? RETURNING collection, number`
  const [removed] = rows<[id: number, number: number | null][]>(database, sql, name, key)
  if (removed !== undefined && removed[1] !== null) addToSum(database, removed[0], -removed[1])
}

function appendTo(database: Database, name: string, key: string, bytes: Uint8Array): void {
  const sql = `INSERT INTO record (collection, key, value) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET value = CAST(value || excluded.value AS BLOB)`
  run(database, sql, collectionOf(database, name).id, key, bytes)
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

function isSame(value: Uint8Array | undefined, is: Uint8Array | string | undefined): boolean {
  if (value === undefined || is === undefined) return value === is
  return Buffer.compare(value, typeof is === 'string' ? Buffer.from(is) : is) === 0
}
