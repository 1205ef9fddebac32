import { stateAfter, type Backfill, type Backfilled, type BackfillState } from '../../domain/backfill.ts'
import type { Day } from '../../domain/day.ts'
import type { CheckpointStore } from '../../ports.ts'
import type { Database } from './database.ts'

interface BackfillRow {
  readonly id: string
  readonly created_at: number
  readonly from_day: Day
  readonly to_day: Day
  readonly state: BackfillState
}

interface BackfilledRow {
  readonly backfill: string
  readonly zone: number
  readonly day: Day
  readonly sink: string
  readonly state: Backfilled['state']
  readonly reason: string | null
}

export type Backfills = Pick<
  CheckpointStore,
  'addBackfill' | 'backfills' | 'setBackfillState' | 'settleBackfilled'
>

export function createBackfills(database: Database): Backfills {
  return {
    addBackfill: (backfill) => database.write(() => insert(database, backfill)),
    backfills: () => database.read(() => readAll(database)),
    setBackfillState: (id, state) =>
      database.write(() => {
        const found = readAll(database).find((backfill) => backfill.id === id)
        if (found === undefined || found.state === 'done' || found.state === 'cancelled') return false
        database.run('UPDATE backfill SET state = ? WHERE id = ?', state, id)
        return true
      }),
    settleBackfilled: (id, { stream, state, reason }) =>
      database.write(() => {
        const sql = `UPDATE backfilled SET state = ?, reason = ?
          WHERE backfill = ? AND zone = ? AND day = ? AND sink = ? AND state = 'queued'`
        database.run(sql, state, reason ?? null, id, stream.zone, stream.day, stream.sink)
      }),
  }
}

/** Drops backfills that were made before that instant and have ended. Inside of a write. */
export function dropBackfills(database: Database, before: number): void {
  for (const { id, createdAtMs, state } of readAll(database)) {
    if (createdAtMs >= before || state === 'running' || state === 'paused') continue
    database.run('DELETE FROM backfilled WHERE backfill = ?', id)
    database.run('DELETE FROM backfill WHERE id = ?', id)
  }
}

function insert(database: Database, { id, createdAtMs, from, to, state, streams }: Backfill): void {
  const into = 'INSERT INTO backfill (id, created_at, from_day, to_day, state)'
  database.run(`${into} VALUES (?, ?, ?, ?, ?)`, id, createdAtMs, from, to, state)
  const sql = 'INSERT INTO backfilled VALUES (?, ?, ?, ?, ?, ?)'
  for (const { stream, state: streamState, reason } of streams)
    database.run(sql, id, stream.zone, stream.day, stream.sink, streamState, reason ?? null)
}

function readAll(database: Database): Backfill[] {
  const streams = Map.groupBy(
    database.all<BackfilledRow>('SELECT * FROM backfilled ORDER BY day, zone, sink'),
    ({ backfill }) => backfill,
  )
  return database.all<BackfillRow>('SELECT * FROM backfill ORDER BY created_at, id').map((row) => {
    const own = (streams.get(row.id) ?? []).map(backfilledOf)
    return {
      id: row.id,
      createdAtMs: row.created_at,
      from: row.from_day,
      to: row.to_day,
      state: stateAfter({ state: row.state, streams: own }),
      streams: own,
    }
  })
}

function backfilledOf({ zone, day, sink, state, reason }: BackfilledRow): Backfilled {
  const stream = { zone, day, sink }
  return reason === null ? { stream, state } : { stream, state, reason }
}
