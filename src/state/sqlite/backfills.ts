import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/plan/backfill.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Day } from '../../domain/day.ts'
import type { Backfills } from '../../ports/store.ts'
import { freeze } from '../freeze.ts'
import { nextChange } from './changes.ts'
import type { Database } from './database/database.ts'

interface BackfillRow {
  readonly id: string
  readonly created_at: number
  readonly from_day: Day
  readonly to_day: Day
  readonly state: BackfillState
  readonly changed: number
}

interface BackfilledRow {
  readonly backfill: string
  readonly zone: number
  readonly day: Day
  readonly sink: string
  readonly state: Backfilled['state']
  readonly reason: string | null
}

export function createBackfills(database: Database): Backfills {
  let known: ReadonlyMap<string, Known> = new Map()

  /** Called every second by a plan: streams of a backfill that has not changed are not read again. */
  function list(): Backfill[] {
    const next = new Map<string, Known>()
    for (const row of readRows(database)) {
      const before = known.get(row.id)
      const { changed } = row
      const isSame = before?.changed === changed
      next.set(row.id, isSame ? before : { changed, backfill: freeze(readBackfill(database, row)) })
    }
    known = next
    return [...next.values()].map(({ backfill }) => backfill)
  }

  return {
    add: (backfill) => database.write(() => insert(database, backfill)),
    list: () => database.read(list),
    setState: (id, state) =>
      database.write(() => {
        const found = readRows(database).find((row) => row.id === id)
        const before = found && readBackfill(database, found).state
        if (before === undefined || before === 'done' || before === 'cancelled') return false
        database.run('UPDATE backfill SET state = ? WHERE id = ?', state, id)
        noteChange(database, id)
        return true
      }),
  }
}

/** Settles the stream in the backfill that requested it, if it is queued there. Inside of a write. */
export function settleBackfilled(
  database: Database,
  { stream, lastRequest }: Pick<Checkpoint, 'stream' | 'lastRequest'>,
): void {
  if (lastRequest === undefined) return
  const { id, outcome, reason } = lastRequest
  const { zone, day, sink } = stream
  const sql = `UPDATE backfilled SET state = ?, reason = ?
    WHERE backfill = ? AND zone = ? AND day = ? AND sink = ? AND state = 'queued'`
  if (database.run(sql, outcome, reason ?? null, id, zone, day, sink) > 0) noteChange(database, id)
}

interface Known {
  readonly changed: number
  readonly backfill: Backfill
}

function noteChange(database: Database, id: string): void {
  database.run('UPDATE backfill SET changed = ? WHERE id = ?', nextChange(database), id)
}

/** Drops backfills that were made before that instant and have ended. Inside of a write. */
export function dropBackfills(database: Database, before: number): void {
  for (const row of readRows(database)) {
    if (row.created_at >= before) continue
    const { id, state } = readBackfill(database, row)
    if (state === 'running' || state === 'paused') continue
    database.run('DELETE FROM backfilled WHERE backfill = ?', id)
    database.run('DELETE FROM backfill WHERE id = ?', id)
  }
}

function insert(database: Database, backfill: Backfill): void {
  const { id, createdAtMs, from, to, state, streams } = backfill
  const values = [id, createdAtMs, from, to, state, nextChange(database)]
  database.run(
    'INSERT INTO backfill (id, created_at, from_day, to_day, state, changed) VALUES (?, ?, ?, ?, ?, ?)',
    ...values,
  )
  const sql = 'INSERT INTO backfilled VALUES (?, ?, ?, ?, ?, ?)'
  for (const { stream, state: streamState, reason } of streams)
    database.run(sql, id, stream.zone, stream.day, stream.sink, streamState, reason ?? null)
}

function readRows(database: Database): BackfillRow[] {
  return database.all<BackfillRow>('SELECT * FROM backfill ORDER BY created_at, id')
}

function readBackfill(database: Database, row: BackfillRow): Backfill {
  const sql = 'SELECT * FROM backfilled WHERE backfill = ? ORDER BY day, zone, sink'
  const streams = database.all<BackfilledRow>(sql, row.id).map(backfilledOf)
  const { id, created_at: createdAtMs, from_day: from, to_day: to } = row
  const state = stateAfter({ state: row.state, streams })
  return { id, createdAtMs, from, to, state, streams }
}

function backfilledOf({ zone, day, sink, state, reason }: BackfilledRow): Backfilled {
  const stream = { zone, day, sink }
  return reason === null ? { stream, state } : { stream, state, reason }
}
