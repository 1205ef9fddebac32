import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../src/clock.ts'
import { openLedger } from '../../src/state/ledger/store.ts'
import type { RedisRecordsOptions } from '../../src/state/redis/records.ts'
import {
  openMemoryRecords,
  openSqliteRecords,
  type SqliteRecordsOptions,
} from '../../src/state/sqlite/records.ts'
import type { Clock } from '../../src/ports/process.ts'
import type { Store } from '../../src/ports/store.ts'

interface StoreOptions {
  readonly clock: Clock
  readonly deadLetterMaxBytes: number
  readonly create?: boolean
}

export type SqliteStoreOptions = StoreOptions & SqliteRecordsOptions
export type RedisStoreOptions = StoreOptions & RedisRecordsOptions

/** One that ends with the process. Several on the same handle are one store that several processes opened. */
export async function openMemoryStore(
  options: StoreOptions & { readonly handle?: DatabaseSync },
): Promise<Store> {
  const records = await openMemoryRecords(options.clock, options.handle)
  return openLedger({ ...options, records, place: 'memory' })
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  return openLedger({ ...options, records: await openSqliteRecords(options), place: options.path })
}

export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { openRedisRecords } = await import('../../src/state/redis/records.ts')
  return openLedger({ ...options, records: await openRedisRecords(options), place: 'redis' })
}

/** Opens the store of a file for some work. */
export async function inStore<Value>(
  { database }: { readonly database: string },
  use: (store: Store) => Promise<Value>,
): Promise<Value> {
  const store = await openSqliteStore({ path: database, clock: systemClock, deadLetterMaxBytes: 1 })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** Frees the streams of killed processes, which a store in SQLite would keep for 20 s. */
export function forgetHolders(path: string): void {
  using database = new DatabaseSync(path)
  database.exec(`DELETE FROM record WHERE collection = (SELECT id FROM collection WHERE name = 'holders')`)
}

/** Changes the checkpoints of a store in SQLite behind its back. */
export function editCheckpoints(path: string, change: (body: object, key: string) => object): void {
  using database = new DatabaseSync(path)
  const ofCheckpoints = `collection = (SELECT id FROM collection WHERE name = 'checkpoints')`
  const rows = database
    .prepare(`SELECT key, CAST(value AS TEXT) AS text FROM record WHERE ${ofCheckpoints}`)
    .all()
  const update = database.prepare(
    `UPDATE record SET value = CAST(? AS BLOB) WHERE ${ofCheckpoints} AND key = ?`,
  )
  for (const { key, text } of rows as { key: string; text: string }[])
    update.run(JSON.stringify(change(JSON.parse(text) as object, key)), key)
}
