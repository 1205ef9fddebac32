import { setImmediate } from 'node:timers/promises'
import type { DeadLetter, RefusalReason, DeadLetterCount } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import type { DeadLetters } from '../../ports/store.ts'
import { deadLetterBytes } from '../commit-checks.ts'
import type { Database } from './database/database.ts'

export type DeadLetterKey = Pick<DeadLetter, 'zone' | 'day' | 'sink' | 'id' | 'time'>

/** Dead letters per transaction, so that none blocks the event loop. */
const removedAtOnce = 500
const listedAtOnce = 200

interface DeadLetterRow {
  rowid: number
  zone: number
  day: string
  sink: string
  id: string
  time: string
  reason: RefusalReason
  answer: string
  at: number
  event: string
}

export function createDeadLetters(database: Database): DeadLetters {
  return {
    list: () => listDeadLetters(database),
    async remove(deadLetters) {
      let removed = 0
      for (let from = 0; from < deadLetters.length; from += removedAtOnce) {
        const some = deadLetters.slice(from, from + removedAtOnce)
        removed += await database.write(() => {
          let count = 0
          for (const deadLetter of some) count += removeDeadLetter(database, deadLetter)
          return count
        })
        await setImmediate()
      }
      return removed
    },
    counts: () =>
      database.read(() =>
        database
          .all<DeadLetterCount>(
            'SELECT zone, day, sink, reason, count, bytes FROM dead_letter_total ORDER BY zone, day, sink, reason',
          )
          .map((row) => ({ ...row })),
      ),
    keys: ({ zone, day, sink }) =>
      database.read(() =>
        database
          .all<{ id: string; time: string }>(
            'SELECT id, time FROM dead_letter WHERE zone = ? AND day = ? AND sink = ?',
            zone,
            day,
            sink,
          )
          .map(identityOf),
      ),
    read: ({ zone, day, sink }, keys) =>
      database.read(() =>
        keys.flatMap(({ id, time }) => {
          const row = database.one<DeadLetterRow>(
            `SELECT rowid, zone, day, sink, id, time, reason, answer, at, event FROM dead_letter
              WHERE zone = ? AND day = ? AND sink = ? AND id = ? AND time = ?`,
            zone,
            day,
            sink,
            JSON.stringify(id),
            time ?? '',
          )
          return row === undefined ? [] : [deadLetterOf(row)]
        }),
      ),
  }
}

/** Oldest first. In several reads, between which the event loop turns. */
async function listDeadLetters(database: Database): Promise<DeadLetter[]> {
  const sql = `SELECT rowid, zone, day, sink, id, time, reason, answer, at, event FROM dead_letter
    WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?`
  const deadLetters: DeadLetter[] = []
  // A dead letter that is replaced meanwhile gets a higher number; the list must not have it twice.
  const last = await database.read(
    () => database.one<{ last: number | null }>('SELECT max(rowid) AS last FROM dead_letter')?.last ?? 0,
  )
  let after = 0
  for (;;) {
    const from = after
    const rows = await database.read(() => database.all<DeadLetterRow>(sql, from, last, listedAtOnce))
    for (const row of rows) deadLetters.push(deadLetterOf(row))
    if (rows.length < listedAtOnce) return deadLetters.toSorted((a, b) => a.at - b.at)
    after = rows.at(-1)!.rowid
    await setImmediate()
  }
}

function deadLetterOf({ rowid: _rowid, id, time, ...rest }: DeadLetterRow): DeadLetter {
  return { ...rest, ...identityOf({ id, time }) }
}

function identityOf({ id, time }: { readonly id: string; readonly time: string }): Identity {
  return { id: JSON.parse(id) as string, ...(time === '' ? {} : { time }) }
}

/** Bytes of all dead letters of a sink. Inside of a transaction. */
export function deadLetterBytesOf(database: Database, sink: string): number {
  const sql = 'SELECT coalesce(sum(bytes), 0) AS bytes FROM dead_letter_total WHERE sink = ?'
  return database.one<{ bytes: number }>(sql, sink)!.bytes
}

/** A dead letter replaces an earlier one of the same event. Inside of a write. */
export function addDeadLetters(database: Database, deadLetters: readonly DeadLetter[]): void {
  const sql = `INSERT INTO dead_letter (zone, day, sink, id, time, reason, answer, at, event, bytes)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
  for (const deadLetter of deadLetters) {
    removeDeadLetter(database, deadLetter)
    const { zone, day, sink, reason, answer, at, event } = deadLetter
    const id = JSON.stringify(deadLetter.id)
    const bytes = deadLetterBytes(deadLetter)
    database.run(sql, zone, day, sink, id, deadLetter.time ?? '', reason, answer, at, event, bytes)
  }
}

/** Returns how many there were. Inside of a write. */
export function removeDeadLetter(database: Database, { zone, day, sink, id, time }: DeadLetterKey): number {
  const sql = 'DELETE FROM dead_letter WHERE zone = ? AND day = ? AND sink = ? AND id = ? AND time = ?'
  return database.run(sql, zone, day, sink, JSON.stringify(id), time ?? '')
}
