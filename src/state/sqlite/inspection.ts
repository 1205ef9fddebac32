import { resolve } from 'node:path'
import { openDatabase } from './database.ts'
import { checkSchema } from './schema.ts'
import { prepareStateFile } from './state-file.ts'

/** A process that pumps, or did lately. */
export interface HolderReport {
  readonly id: string
  /** It has, or had, the schedule lock. */
  readonly schedule: boolean
  /** By the clock of that process, ms since the epoch. */
  readonly heardAtMs: number
  /** How many streams are its own. */
  readonly streams: number
}

export interface SqliteStoreReport {
  /** Without the write-ahead log. */
  readonly bytes: number
  /** Of these, what later commits will use first. */
  readonly freeBytes: number
  readonly holders: readonly HolderReport[]
}

/** For people: how large the store is and who works on it. Makes nothing and migrates nothing. Throws Failure. */
export async function inspectSqliteStore(path: string): Promise<SqliteStoreReport> {
  const file = resolve(path)
  prepareStateFile(file, false)
  const database = await openDatabase(file)
  try {
    await checkSchema(database)
    return await database.read(() => {
      const pragma = (name: string): number =>
        database.one<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0
      const pageBytes = pragma('page_size')
      const rows = database.all<{ id: string; schedule: number; heard_at: number; streams: number }>(
        `SELECT id, schedule, heard_at, (SELECT count(*) FROM stream WHERE holder = holder.id) AS streams
          FROM holder ORDER BY heard_at DESC`,
      )
      return {
        bytes: pragma('page_count') * pageBytes,
        freeBytes: pragma('freelist_count') * pageBytes,
        holders: rows.map(({ id, schedule, heard_at, streams }) => {
          return { id, schedule: schedule === 1, heardAtMs: heard_at, streams }
        }),
      }
    })
  } finally {
    database.close()
  }
}
