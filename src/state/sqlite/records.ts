import { resolve } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../ports/process.ts'
import type { Changes, ReadRecords, Records } from '../../ports/records.ts'
import { applyWrite, isTracked, nextNumber, type Cells } from '../apply-write.ts'
import { openDatabase, type Database } from './database.ts'
import { prepareStateFile } from './state-file.ts'
import { isMade, makeSchema } from './schema.ts'

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
      let page: Page = []
      do {
        const after = page.at(-1)?.[0] ?? ''
        page = await database.read(() => rows<Page>(database, sql, collection, after, atOnce))
        yield page
        await setImmediate()
      } while (page.length === atOnce)
    },
    write(write) {
      const work = (at: number) => applyWrite(createCells(database, at), write, at)
      return database.write(() => work(nowUs()), write.loosely)
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

/** All that one write puts in a collection shares a change number. */
function createCells(database: Database, nowUs: number): Cells {
  const begun = new Map<string, { readonly id: number; readonly number: number | null }>()

  /** Makes the collection where there is none. */
  function begin(name: string) {
    const known = begun.get(name)
    if (known !== undefined) return known
    run(database, 'INSERT INTO collection (name) VALUES (?) ON CONFLICT DO NOTHING', name)
    const sql = 'SELECT id, latest FROM collection WHERE name = ?'
    const [id, latest] = rows<[id: number, latest: number][]>(database, sql, name)[0]!
    const number = isTracked(name) ? nextNumber(latest, nowUs) : null
    if (number !== null) run(database, 'UPDATE collection SET latest = ? WHERE id = ?', number, id)
    begun.set(name, { id, number })
    return { id, number }
  }

  const addToSum = (id: number, growth: number): void =>
    void run(database, 'UPDATE collection SET sum = sum + ? WHERE id = ?', growth, id)

  return {
    get: (name, key) => valueOf(database, name, key),
    put(name, key, value) {
      const { id, number } = begin(name)
      if (number !== null) {
        const sql = 'SELECT number FROM record WHERE collection = ? AND key = ?'
        const [before] = rows<[number][]>(database, sql, id, key)
        addToSum(id, number - (before?.[0] ?? 0))
      }
      const sql = `INSERT INTO record (collection, key, value, number) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET value = excluded.value, number = excluded.number`
      run(database, sql, id, key, value, number)
    },
    append(name, key, more) {
      const sql = `INSERT INTO record (collection, key, value) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET value = CAST(value || excluded.value AS BLOB)`
      run(database, sql, begin(name).id, key, more)
    },
    remove(name, key) {
      const sql = `DELETE FROM record WHERE collection = (${idOf}) AND key = ? RETURNING collection, number`
      const [removed] = rows<[id: number, number: number | null][]>(database, sql, name, key)
      if (removed !== undefined && removed[1] !== null) addToSum(removed[0], -removed[1])
    },
    // The row without a name keeps the records until they are cleared away.
    drop: (name) => void run(database, 'UPDATE collection SET name = NULL WHERE name = ?', name),
  }
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
