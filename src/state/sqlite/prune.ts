import { setImmediate } from 'node:timers/promises'
import type { Day } from '../../domain/day.ts'
import type { Clock } from '../../ports/process.ts'
import type { Upkeep } from '../../ports/store.ts'
import { holderKeptMs } from '../held.ts'
import { dropBackfills } from './backfills.ts'
import { countRemoval } from './changes.ts'
import type { Database } from './database/database.ts'
import { findStream, keptUntil, type StreamRow } from './streams.ts'

/** Each transaction is small, and the event loop turns between them. */
const streamsAtOnce = 20
const chunksAtOnce = 512
const pagesAtOnce = 256

/** Free database pages that stay in the file for the next day. */
const sparePages = 1024

export interface Pruning {
  readonly prune: Upkeep['prune']
  /** Deletes dropped fingerprints and returns free pages to the file system. */
  readonly reclaim: () => Promise<void>
}

export function createPruning(database: Database, clock: Clock): Pruning {
  const reclaim = async (): Promise<void> => {
    while (await database.write(() => clearChunks(database))) await setImmediate()
    while (await database.write(() => shrink(database))) await setImmediate()
  }
  return {
    async prune(streams, { uncommittedBefore, gapsBefore }) {
      for (let from = 0; from < streams.length; from += streamsAtOnce) {
        const some = streams.slice(from, from + streamsAtOnce)
        await database.write(() => {
          for (const stream of some) dropStream(database, findStream(database, stream), clock.now())
        })
        await setImmediate()
      }
      let after: number | undefined = 0
      while (after !== undefined) {
        const from: number = after
        after = await database.write(() => dropUncommitted(database, uncommittedBefore, from, clock.now()))
        await setImmediate()
      }
      await database.write(() => {
        database.run('DELETE FROM gap WHERE recorded_at < ?', gapsBefore)
        dropBackfills(database, gapsBefore)
        database.run('DELETE FROM holder WHERE heard_at < ?', clock.now() - holderKeptMs)
      })
      await reclaim()
    },
    reclaim,
  }
}

export type OldStream = Pick<StreamRow, 'id' | 'fence' | 'seen' | 'holder'>

/** Returns the id to continue after, or undefined when no old stream is left. */
function dropUncommitted(database: Database, before: Day, after: number, nowMs: number): number | undefined {
  const sql = `SELECT id, fence, seen, holder FROM stream
    WHERE id > ? AND commit_number = 0 AND day < ? ORDER BY id LIMIT ?`
  const rows = database.all<OldStream>(sql, after, before, streamsAtOnce)
  for (const row of rows) dropStream(database, row, nowMs)
  return rows.length < streamsAtOnce ? undefined : rows.at(-1)?.id
}

/** Drops nothing while a live holder has the stream. Inside of a write. */
function dropStream(database: Database, row: OldStream | undefined, nowMs: number): void {
  if (row === undefined) return
  if (row.holder !== null && keptUntil(database, row.holder, nowMs) !== undefined) return
  removeStream(database, row)
}

/** Inside of a write. */
export function removeStream(database: Database, { id, fence, seen }: Omit<OldStream, 'holder'>): void {
  database.run('UPDATE store SET fence_floor = max(fence_floor, ?)', fence)
  database.run('INSERT INTO dropped (seen) VALUES (?)', seen)
  countRemoval(database)
  database.run('DELETE FROM minute WHERE stream = ?', id)
  database.run('DELETE FROM checkpoint WHERE stream = ?', id)
  database.run('DELETE FROM stream WHERE id = ?', id)
}

/** False when no dropped fingerprints are left. */
function clearChunks(database: Database): boolean {
  const seen = database.one<{ seen: number }>('SELECT seen FROM dropped LIMIT 1')?.seen
  if (seen === undefined) return false
  const sql = 'DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE seen = ? LIMIT ?)'
  if (database.run(sql, seen, chunksAtOnce) < chunksAtOnce)
    database.run('DELETE FROM dropped WHERE seen = ?', seen)
  return true
}

/** False when the file has no more free pages than it may keep. */
function shrink(database: Database): boolean {
  const free = database.one<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0
  if (free <= sparePages) return false
  database.script(`PRAGMA incremental_vacuum(${Math.min(pagesAtOnce, free - sparePages)})`)
  const left = database.one<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0
  return left < free
}
