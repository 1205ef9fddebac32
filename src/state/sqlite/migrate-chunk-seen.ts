import type { DeadLetter } from '../../domain/delivery.ts'
import type { Database } from './database.ts'
import { addLetters } from './dead-letters.ts'
import { addSeen } from './fingerprints.ts'
import { layout } from './layout.ts'
import { nextSeen } from './streams.ts'

/**
 * From schema 0, the layout before the first release: one row of fingerprints a minute, without counts, and the whole
 * checkpoint in the row of its stream.
 */
export function chunkSeen(database: Database): void {
  for (const table of ['store', 'holder', 'stream', 'letter', 'gap', 'pair'])
    database.script(`ALTER TABLE ${table} RENAME TO old_${table}`)
  database.script(layout)
  database.script('INSERT INTO store (id, made_at) SELECT id, made_at FROM old_store')
  for (const table of ['holder', 'gap', 'pair'])
    database.script(`INSERT INTO ${table} SELECT * FROM old_${table}`)
  moveStreams(database)
  addLetters(database, database.all<DeadLetter>('SELECT * FROM old_letter').map(withoutEmptyTime))
  for (const table of ['store', 'holder', 'stream', 'letter', 'gap', 'pair'])
    database.script(`DROP TABLE old_${table}`)
  database.script('DROP TABLE seen')
}

function moveStreams(database: Database): void {
  const streams = database.all<{ id: number; checkpoint: string | null }>(
    'SELECT id, checkpoint FROM old_stream ORDER BY id',
  )
  for (const { id, checkpoint } of streams) {
    const seen = nextSeen(database)
    const { stream: _, ...body } = JSON.parse(checkpoint ?? '{}') as Record<string, unknown>
    const endedAt = (body['ended'] as { atMs: number } | undefined)?.atMs ?? null
    const sql = `INSERT INTO stream (id, zone, day, sink, fence, holder, commit_number, ended_at, seen)
      SELECT id, zone, day, sink, fence, holder, commit_number, ?, ? FROM old_stream WHERE id = ?`
    database.run(sql, endedAt, seen, id)
    if (checkpoint !== null) database.run('INSERT INTO checkpoint VALUES (?, ?)', id, JSON.stringify(body))
    moveSeen(database, { id, seen })
  }
}

function moveSeen(database: Database, owner: { id: number; seen: number }): void {
  const minutes = database.all<{ minute: number }>('SELECT minute FROM seen WHERE stream = ?', owner.id)
  for (const { minute } of minutes) {
    const sql = 'SELECT bytes FROM seen WHERE stream = ? AND minute = ?'
    const row = database.one<{ bytes: Uint8Array }>(sql, owner.id, minute)
    if (row !== undefined) addSeen(database, owner, new Map([[minute, row.bytes]]))
  }
}

function withoutEmptyTime({ time, ...letter }: DeadLetter): DeadLetter {
  return time === undefined || time === null || time === '' ? letter : { ...letter, time }
}
