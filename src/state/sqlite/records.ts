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
import { databaseOn, openDatabase, type Database } from './database.ts'
import { refuseRemoved, refuseWithoutLog } from './schedule-lock.ts'
import { prepareStateFile } from './state-file.ts'

/** So that four records with their row headers fill a page of the database. Larger ones leave more of a page empty. */
const roomy = 980

/** Each step of clearing away takes some ms, and the event loop turns between them. */
const recordsAtOnce = 128
const pagesAtOnce = 256
/** Free pages of the database that stay in the file for the next day: 4 MiB. */
const sparePages = 1_024

const since2026 = Date.UTC(2026)

export interface SqliteRecordsOptions {
  readonly path: string
  readonly clock: Clock
  /** False refuses a path without a store instead of making one there. */
  readonly create?: boolean
}

/** Opens the store, and makes it if there is none. Throws `store_refuses`. */
export async function openSqliteRecords({ path, clock, create }: SqliteRecordsOptions): Promise<Records> {
  refuseRemoved(path)
  prepareStateFile(path, create)
  refuseWithoutLog(path)
  return openIn(await openDatabase(path), clock)
}

/** Records that end with the process. What several open on one handle, they share, as processes share a file. */
export function openMemoryRecords(clock: Clock, handle = new DatabaseSync(':memory:')): Promise<Records> {
  return openIn(databaseOn(handle), clock)
}

async function openIn(database: Database, clock: Clock): Promise<Records> {
  try {
    await database.prepareStore()
  } catch (error) {
    database[Symbol.dispose]()
    throw error
  }
  const nowUs = (): number => Math.floor(clock.now() * 1_000)
  const table = tablesOf(database)
  return {
    roomy,
    read: <Name extends string>(asked: Readonly<Record<Name, readonly string[]>>) =>
      database.read(() => {
        const collections = Object.entries<readonly string[]>(asked)
        const found = collections.map(([name, keys]) => [name, table.values(name, keys)] as const)
        return { nowUs: nowUs(), found: Object.fromEntries(found) as unknown as ReadRecords<Name>['found'] }
      }),
    async *scan(collection, atOnce) {
      let after = ''
      for (;;) {
        const from = after
        const page = await database.read(() => table.page(collection, from, atOnce))
        yield page
        if (page.length < atOnce) return
        after = page.at(-1)![0]
        await setImmediate()
      }
    },
    write: (write) => database.write(() => table.apply(write, nowUs()), write.loosely),
    changes: (collection, since) => database.read(() => table.changes(collection, since)),
    async reclaim() {
      while (await database.write(() => table.clear(), true)) await setImmediate()
      while (await database.write(() => table.shrink(), true)) await setImmediate()
    },
    close: async () => database[Symbol.dispose](),
  }
}

type Page = (readonly [key: string, value: Uint8Array])[]

const idOf = 'SELECT id FROM collection WHERE name = ?'
const ofKey = `collection = (${idOf}) AND key = ?`

/** The table of records and that of collections. All of it is work inside of a transaction. */
function tablesOf(database: Database) {
  /** Rows as lists of their columns. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows its own columns
  function rows<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return database.prepare(sql).all(...values) as unknown as Row[]
  }

  function run(sql: string, ...values: SQLInputValue[]): number {
    return Number(database.prepare(sql).run(...values).changes)
  }

  function valueOf(collection: string, key: string): Uint8Array | undefined {
    return rows<[Uint8Array]>(`SELECT value FROM record WHERE ${ofKey}`, collection, key)[0]?.[0]
  }

  function values(collection: string, keys: readonly string[]) {
    if (keys.length < 4) return keys.map((key) => valueOf(collection, key))
    const sql = `SELECT key, value FROM record
      WHERE collection = (${idOf}) AND key IN (SELECT value FROM json_each(?))`
    const found = new Map(rows<Page[number]>(sql, collection, JSON.stringify(keys)))
    return keys.map((key) => found.get(key))
  }

  function page(collection: string, after: string, atOnce: number): Page {
    const sql = `SELECT key, value FROM record WHERE collection = (${idOf}) AND key > ? ORDER BY key LIMIT ?`
    return rows(sql, collection, after, atOnce)
  }

  function changes(name: string, since: number): Changes {
    const sql = 'SELECT id, latest, CAST(sum AS TEXT) FROM collection WHERE name = ?'
    const [found] = rows<[id: number, latest: number, sum: string]>(sql, name)
    if (found === undefined) return { latest: 0, sum: 0n, changed: [] }
    const [id, latest, sum] = found
    const changed = 'SELECT key, number FROM record WHERE collection = ? AND number > ? ORDER BY number'
    return { latest, sum: BigInt(sum), changed: rows(changed, id, since) }
  }

  /** A whole write, or nothing and false where a condition does not hold. */
  function apply(write: Write, nowUs: number): boolean {
    const { when, add = [], drop = [], remove = [], put = [], append = [], stamp = [] } = write
    if (!when.every((each) => holds(each, valueOf(each.collection, each.key)))) return false
    const begun = new Map<string, readonly [id: number, number: number | null]>()
    const begin = (name: string) => {
      const own = begun.get(name) ?? beginIn(name, nowUs)
      begun.set(name, own)
      return own
    }
    const putOne = (name: string, key: string, value: Uint8Array | string): void => {
      const [id, number] = begin(name)
      if (number !== null) addToSum(name, key, number)
      const sql = `INSERT INTO record (collection, key, value, number) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET value = excluded.value, number = excluded.number`
      run(sql, id, key, bytesOf(value), number)
    }
    for (const [name, key, by] of add) putOne(name, key, String(numberOf(valueOf(name, key)) + by))
    // The row without a name keeps the records until they are cleared away.
    for (const name of drop) run('UPDATE collection SET name = NULL WHERE name = ?', name)
    for (const [name, key] of remove) {
      if (isTracked(name)) addToSum(name, key, 0)
      run(`DELETE FROM record WHERE ${ofKey}`, name, key)
    }
    for (const each of put) putOne(...each)
    for (const [name, key, more] of append) {
      const sql = `INSERT INTO record (collection, key, value) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET value = CAST(value || excluded.value AS BLOB)`
      run(sql, begin(name)[0], key, more)
    }
    for (const [name, key] of stamp) putOne(name, key, String(nowUs))
    return true
  }

  /**
   * Makes a collection where there is none; of a tracked one also the change number that follows its latest one, for all
   * that a write puts there. It is at least the ms since 2026, so that a store that was restored from an older state does
   * not give a number that it gave already. Sums of a million of them stay below 2^63.
   */
  function beginIn(name: string, nowUs: number): readonly [id: number, number: number | null] {
    if (!isTracked(name)) {
      const sql = 'INSERT INTO collection (name) VALUES (?) RETURNING id'
      const [id] = rows<[number]>(idOf, name)[0] ?? rows<[number]>(sql, name)[0]!
      return [id, null]
    }
    const sql = `INSERT INTO collection (name, latest) VALUES (?, max(1, ?))
      ON CONFLICT DO UPDATE SET latest = max(latest + 1, excluded.latest) RETURNING id, latest`
    return rows<[id: number, latest: number]>(sql, name, Math.floor(nowUs / 1_000) - since2026)[0]!
  }

  /** The sum of all numbers, with this one for a key in place of the one that it has. */
  function addToSum(name: string, key: string, number: number): void {
    const sql = `UPDATE collection SET sum = sum + ? - coalesce(
      (SELECT number FROM record WHERE collection = collection.id AND key = ?), 0) WHERE name = ?`
    run(sql, number, key, name)
  }

  /** False when nothing of dropped collections is left. */
  function clear(): boolean {
    const [dropped] = rows<[number]>('SELECT id FROM collection WHERE name IS NULL LIMIT 1')
    if (dropped === undefined) return false
    const sql = 'DELETE FROM record WHERE rowid IN (SELECT rowid FROM record WHERE collection = ? LIMIT ?)'
    if (run(sql, dropped[0], recordsAtOnce) < recordsAtOnce)
      run('DELETE FROM collection WHERE id = ?', dropped[0])
    return true
  }

  /** Returns free pages to the file system. False when the file has no more of them than it may keep. */
  function shrink(): boolean {
    const free = freePages()
    if (free <= sparePages) return false
    database.exec(`PRAGMA incremental_vacuum(${Math.min(pagesAtOnce, free - sparePages)})`)
    return freePages() < free
  }

  function freePages(): number {
    return rows<[number]>('PRAGMA freelist_count')[0]![0]
  }

  return { values, page, changes, apply, clear, shrink }
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
