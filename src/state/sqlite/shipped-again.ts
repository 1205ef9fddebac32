import { countMinute, type MinuteCount } from '../../domain/seen.ts'
import type { Database } from './database.ts'
import { addChunks, loadMinute, refuseDamaged } from './chunks.ts'
import { nextSeen } from './streams.ts'

/** The number that the chunks of what a stream shipped again bear; undefined without any. */
export function againOf(database: Database, stream: number): number | undefined {
  return database.one<{ seen: number }>('SELECT seen FROM again WHERE stream = ?', stream)?.seen
}

/** Inside of a write. */
export function addAgain(database: Database, stream: number, added: ReadonlyMap<number, Uint8Array>): void {
  for (const [minute, bytes] of added) {
    refuseDamaged(minute, bytes)
    if (bytes.byteLength === 0) continue
    let seen = againOf(database, stream)
    if (seen === undefined) {
      seen = nextSeen(database)
      database.run('INSERT INTO again (stream, seen) VALUES (?, ?)', stream, seen)
    }
    addChunks(database, seen, minute, bytes)
  }
}

/** Only names them as dropped; they are cleared away later. Inside of a write. */
export function dropAgain(database: Database, stream: number): void {
  const seen = againOf(database, stream)
  if (seen === undefined) return
  database.run('INSERT INTO dropped (seen) VALUES (?)', seen)
  database.run('DELETE FROM again WHERE stream = ?', stream)
}

/** By minute. Counted each time: it is asked for once a day that is shipped again. */
export function countAgain(database: Database, stream: number): MinuteCount[] {
  const seen = againOf(database, stream)
  if (seen === undefined) return []
  const sql = 'SELECT DISTINCT minute FROM chunk WHERE seen = ? ORDER BY minute'
  return database
    .all<{ minute: number }>(sql, seen)
    .map(({ minute }) => countMinute(minute, loadMinute(database, seen, minute) ?? new Uint8Array()))
}
