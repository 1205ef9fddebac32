import type { Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import { held } from '../held.ts'
import { nameTaken } from '../name-taken.ts'
import { nextChange } from './changes.ts'
import type { Database } from './database/database.ts'
import { removeStream, type OldStream } from './prune.ts'
import { keptUntil } from './streams.ts'

/** Tables with a sink's name, and what messages call their rows. */
const tables = [
  ['stream', 'streams'],
  ['gap', 'gaps'],
  ['dead_letter', 'dead letters'],
  ['route', 'planned zones'],
] as const

/** Renames a sink; returns how many streams were moved. */
export function createRenameSink(database: Database, clock: Clock) {
  return (from: string, to: string, replace = false): Promise<number> => {
    return database.write(() => {
      if (replace) dropSink(database, to, clock.now())
      refuseTaken(database, to)
      refuseHeld(database, from, clock.now())
      const change = nextChange(database)
      const moved = database.run('UPDATE stream SET sink = ?, changed = ? WHERE sink = ?', to, change, from)
      // A new stream under the old name must not accept a commit of a pump that held the moved one.
      database.script(
        'UPDATE store SET fence_floor = max(fence_floor, (SELECT ifnull(max(fence), 0) FROM stream))',
      )
      database.run('UPDATE gap SET sink = ? WHERE sink = ?', to, from)
      database.run('UPDATE route SET sink = ? WHERE sink = ?', to, from)
      database.run('UPDATE dead_letter SET sink = ? WHERE sink = ?', to, from)
      database.run('UPDATE dead_letter_total SET sink = ? WHERE sink = ?', to, from)
      renameRecord(database, from, to)
      const own = 'id IN (SELECT backfill FROM backfilled WHERE sink = ?)'
      database.run(`UPDATE backfill SET changed = ? WHERE ${own}`, change, from)
      database.run('UPDATE backfilled SET sink = ? WHERE sink = ?', to, from)
      return moved
    })
  }
}

/** All that the store has of a sink, but for its dead letters and gaps. */
function dropSink(database: Database, sink: string, nowMs: number): void {
  refuseHeld(database, sink, nowMs)
  const sql = 'SELECT id, fence, seen, holder FROM stream WHERE sink = ?'
  for (const row of database.all<OldStream>(sql, sink)) removeStream(database, row)
  for (const table of ['route', 'backfilled']) database.run(`DELETE FROM ${table} WHERE sink = ?`, sink)
}

/** The place moves along; a record of the new name is replaced. */
function renameRecord(database: Database, from: string, to: string): void {
  const sql = 'SELECT type, place, formerly FROM sink WHERE name = ?'
  const known = database.one<{ type: string; place: string; formerly: string }>(sql, from)
  const { type, place, formerly } = known ?? { type: '', place: '', formerly: '' }
  database.run('DELETE FROM sink WHERE name IN (?, ?)', from, to)
  const insert = 'INSERT INTO sink (name, type, place, formerly) VALUES (?, ?, ?, ?)'
  database.run(insert, to, type, place, `${formerly}${from} `)
}

function refuseTaken(database: Database, to: string): void {
  const found = tables.filter(
    ([table]) => database.one(`SELECT 1 FROM ${table} WHERE sink = ? LIMIT 1`, to) !== undefined,
  )
  if (found.length === 0) return
  throw nameTaken(
    to,
    found.map(([, words]) => words),
  )
}

function refuseHeld(database: Database, from: string, nowMs: number): void {
  const sql = 'SELECT zone, day, sink, holder FROM stream WHERE sink = ? AND holder IS NOT NULL'
  for (const { holder, ...stream } of database.all<Stream & { holder: string }>(sql, from)) {
    const until = keptUntil(database, holder, nowMs)
    if (until !== undefined) throw held(stream, until)
  }
}
