import type { Day } from '../../domain/day.ts'
import type { Gap, GapReason } from '../../domain/gap.ts'
import type { Route } from '../../domain/stream.ts'
import type { Database } from './database/database.ts'

interface GapRow {
  zone: number
  sink: string
  day: Day
  from_at: number
  to_at: number
  reason: GapReason
  recorded_at: number
  acknowledged_at: number | null
}

export function readGaps(database: Database): Gap[] {
  const columns = 'zone, sink, day, from_at, to_at, reason, recorded_at, acknowledged_at'
  return database
    .all<GapRow>(`SELECT ${columns} FROM gap ORDER BY zone, sink, day, from_at, reason`)
    .map(({ zone, sink, day, from_at, to_at, reason, recorded_at, acknowledged_at }) => ({
      zone,
      sink,
      day,
      from: from_at,
      to: to_at,
      reason,
      recordedAt: recorded_at,
      ...(acknowledged_at !== null && { acknowledgedAt: acknowledged_at }),
    }))
}

/** Inside of a write. */
export function markGaps(database: Database, gaps: readonly Gap[], atMs: number): number {
  const sql = `UPDATE gap SET acknowledged_at = ?
    WHERE zone = ? AND sink = ? AND day = ? AND from_at = ? AND reason = ? AND acknowledged_at IS NULL`
  let marked = 0
  for (const { zone, sink, day, from, reason } of gaps)
    marked += database.run(sql, atMs, zone, sink, day, from, reason)
  return marked
}

/** Leaves an existing gap of the same zone, sink, day, start and reason as it is. Inside of a write. */
export function insertGaps(database: Database, gaps: readonly Gap[]): void {
  const sql = `INSERT OR IGNORE INTO gap (zone, sink, day, from_at, to_at, reason, recorded_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`
  for (const gap of gaps)
    database.run(sql, gap.zone, gap.sink, gap.day, gap.from, gap.to, gap.reason, gap.recordedAt)
}

interface RouteRow {
  zone: number
  sink: string
  first_day: Day
  planned_at: number
}

export function readRoutes(database: Database): Route[] {
  return database
    .all<RouteRow>('SELECT zone, sink, first_day, planned_at FROM route ORDER BY zone, sink')
    .map(({ zone, sink, first_day, planned_at }) => {
      return { zone, sink, firstDay: first_day, plannedAtMs: planned_at }
    })
}

/** Inside of a write. */
export function insertRoutes(database: Database, routes: readonly Route[]): void {
  const sql = `INSERT INTO route (zone, sink, first_day, planned_at) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET first_day = min(first_day, excluded.first_day), planned_at = excluded.planned_at`
  for (const { zone, sink, firstDay, plannedAtMs } of routes)
    database.run(sql, zone, sink, firstDay, plannedAtMs)
}
