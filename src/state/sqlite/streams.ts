import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { AuditRecord } from '../../domain/audit-report.ts'
import { onlyStream, type Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Holder, Ledger, Taken } from '../../ports/store.ts'
import { heardWithinMs, held } from '../held.ts'
import type { Database } from './database/database.ts'

export interface StreamRow {
  readonly id: number
  readonly fence: number
  readonly holder: string | null
  readonly commit_number: number
  readonly commit_hash: Uint8Array | null
  readonly seen: number
  readonly is_index_dropped: number
}

/** What a row of the table names its stream by. */
export type StreamColumns = Pick<Stream, 'zone' | 'day'> & { readonly sink: string }

export function streamOfRow({ zone, day, sink }: StreamColumns): Stream {
  return { zone, day, sink }
}

export function findStream(database: Database, stream: Stream): StreamRow | undefined {
  const sql = `SELECT id, fence, holder, commit_number, commit_hash, seen, is_index_dropped
    FROM stream
    WHERE zone = ? AND day = ? AND sink = ?`
  return database.one<StreamRow>(sql, stream.zone, stream.day, stream.sink)
}

/** A number that no chunk has yet. */
export function nextSeen(database: Database): number {
  return database.one<{ last_seen: number }>(
    'UPDATE store SET last_seen = last_seen + 1 RETURNING last_seen',
  )!.last_seen
}

export function readCheckpoint(database: Database, id: number, stream: Stream): Checkpoint | undefined {
  const row = database.one<{ body: string }>('SELECT body FROM checkpoint WHERE stream = ?', id)
  return row === undefined ? undefined : checkpointOf(stream, row.body)
}

/** The body omits the stream, so that a rename of its sink need not change it. */
export function checkpointOf(stream: Stream, body: string): Checkpoint {
  return { stream: onlyStream(stream), ...(JSON.parse(body) as Omit<Checkpoint, 'stream'>) }
}

/** Until when a live holder keeps its streams; undefined for one without a recent heartbeat. Inside of a write. */
export function keptUntil(database: Database, holder: string, nowMs: number): number | undefined {
  const row = database.one<{ heard_at: number }>('SELECT heard_at FROM holder WHERE id = ?', holder)
  if (row === undefined) return undefined
  // The clock was set back: a dead holder must not keep its streams until the old time is reached again.
  if (row.heard_at > nowMs) database.run('UPDATE holder SET heard_at = ? WHERE id = ?', nowMs, holder)
  const until = Math.min(row.heard_at, nowMs) + heardWithinMs
  return until > nowMs ? until : undefined
}

function hear(database: Database, holder: Holder, nowMs: number): void {
  const sql = `INSERT INTO holder (id, schedule, heard_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET schedule = excluded.schedule, heard_at = excluded.heard_at`
  database.run(sql, holder.id, holder.schedule ? 1 : 0, nowMs)
}

export type Streams = Pick<
  Ledger,
  'take' | 'heartbeat' | 'holds' | 'release' | 'read' | 'noteAudit' | 'auditOf'
>

export function createStreams(database: Database, storeId: string, clock: Clock): Streams {
  return {
    async take(stream, holder) {
      const taken = await database.writeLoosely((): Taken | number => {
        const nowMs = clock.now()
        const row = findStream(database, stream)
        const until = row === undefined ? undefined : heldUntil(database, row, holder, nowMs)
        if (until !== undefined) return until
        hear(database, holder, nowMs)
        if (row === undefined)
          return { fence: insertStream(database, stream, holder), checkpoint: undefined, storeId }
        database.run('UPDATE stream SET fence = fence + 1, holder = ? WHERE id = ?', holder.id, row.id)
        return { fence: row.fence + 1, checkpoint: readCheckpoint(database, row.id, stream), storeId }
      })
      if (typeof taken === 'number') throw held(stream, taken)
      return taken
    },
    heartbeat: (holder) => database.writeLoosely(() => hear(database, holder, clock.now())),
    holds: (stream, fence) => database.read(() => findStream(database, stream)?.fence === fence),
    release: (stream, fence) =>
      database.writeLoosely(() => {
        const sql = 'UPDATE stream SET holder = NULL WHERE zone = ? AND day = ? AND sink = ? AND fence = ?'
        database.run(sql, stream.zone, stream.day, stream.sink, fence)
      }),
    noteAudit: (stream, record) =>
      database.writeLoosely(() => {
        const sql = 'UPDATE stream SET audit = ? WHERE zone = ? AND day = ? AND sink = ?'
        database.run(sql, JSON.stringify(record), stream.zone, stream.day, stream.sink)
      }),
    auditOf: (stream) =>
      database.read(() => {
        const sql = 'SELECT audit FROM stream WHERE zone = ? AND day = ? AND sink = ?'
        const row = database.one<{ audit: string | null }>(sql, stream.zone, stream.day, stream.sink)
        const text = row?.audit ?? ''
        return text === '' ? undefined : (JSON.parse(text) as AuditRecord)
      }),
    read: (stream) =>
      database.read(() => {
        const row = findStream(database, stream)
        return row === undefined ? undefined : readCheckpoint(database, row.id, stream)
      }),
  }
}

function heldUntil(database: Database, row: StreamRow, by: Holder, nowMs: number): number | undefined {
  if (row.holder === null || row.holder === by.id) return undefined
  const other = database.one<{ schedule: number }>('SELECT schedule FROM holder WHERE id = ?', row.holder)
  // The schedule lock has one owner: an earlier owner of it is dead.
  if (by.schedule && other?.schedule === 1) return undefined
  return keptUntil(database, row.holder, nowMs)
}

function insertStream(database: Database, stream: Stream, holder: Holder): number {
  const sql = `INSERT INTO stream (zone, day, sink, holder, seen, fence)
    VALUES (?, ?, ?, ?, ?, (SELECT fence_floor + 1 FROM store)) RETURNING fence`
  const own = [stream.zone, stream.day, stream.sink]
  return database.one<{ fence: number }>(sql, ...own, holder.id, nextSeen(database))!.fence
}
