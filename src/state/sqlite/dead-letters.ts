import { setImmediate } from 'node:timers/promises'
import type { DeadLetter, RefusalReason } from '../../domain/delivery.ts'
import type { Identity } from '../../domain/event.ts'
import type { DeadLetterCount } from '../../domain/dead-letter-count.ts'
import type { DeadLetters } from '../../ports/dead-letters.ts'
import { letterBytes } from '../commit-checks.ts'
import type { Database } from './database.ts'

export type LetterKey = Pick<DeadLetter, 'zone' | 'day' | 'sink' | 'id' | 'time'>

/** Letters in one transaction, so that none holds up the event loop. */
const removedAtOnce = 500
const listedAtOnce = 200

interface LetterRow {
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
    list: (sink) => listLetters(database, sink),
    async remove(letters) {
      let removed = 0
      for (let from = 0; from < letters.length; from += removedAtOnce) {
        const some = letters.slice(from, from + removedAtOnce)
        removed += await database.write(() => {
          let count = 0
          for (const letter of some) count += removeLetter(database, letter)
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
            'SELECT zone, day, sink, reason, count, bytes FROM letter_total ORDER BY zone, day, sink, reason',
          )
          .map((row) => ({ ...row })),
      ),
    keys: ({ zone, day, sink }) =>
      database.read(() =>
        database
          .all<{ id: string; time: string }>(
            'SELECT id, time FROM letter WHERE zone = ? AND day = ? AND sink = ?',
            zone,
            day,
            sink,
          )
          .map(identityOf),
      ),
    read: ({ zone, day, sink }, keys) =>
      database.read(() =>
        keys.flatMap(({ id, time }) => {
          const row = database.one<LetterRow>(
            `SELECT rowid, zone, day, sink, id, time, reason, answer, at, event FROM letter
              WHERE zone = ? AND day = ? AND sink = ? AND id = ? AND time = ?`,
            zone,
            day,
            sink,
            JSON.stringify(id),
            time ?? '',
          )
          return row === undefined ? [] : [letterOf(row)]
        }),
      ),
  }
}

/** Oldest first. In several reads: the event loop turns between them. */
async function listLetters(database: Database, sink: string | undefined): Promise<DeadLetter[]> {
  const sql = `SELECT rowid, zone, day, sink, id, time, reason, answer, at, event FROM letter
    WHERE rowid > ? AND rowid <= ? AND sink = ifnull(?, sink) ORDER BY rowid LIMIT ?`
  const letters: DeadLetter[] = []
  // A letter that is replaced meanwhile gets a higher number; it must not come twice.
  const last = await database.read(
    () => database.one<{ last: number | null }>('SELECT max(rowid) AS last FROM letter')?.last ?? 0,
  )
  let after = 0
  for (;;) {
    const from = after
    const rows = await database.read(() =>
      database.all<LetterRow>(sql, from, last, sink ?? null, listedAtOnce),
    )
    for (const row of rows) letters.push(letterOf(row))
    if (rows.length < listedAtOnce) return letters.toSorted((a, b) => a.at - b.at)
    after = rows.at(-1)!.rowid
    await setImmediate()
  }
}

function letterOf({ rowid: _rowid, id, time, ...rest }: LetterRow): DeadLetter {
  return { ...rest, ...identityOf({ id, time }) }
}

function identityOf({ id, time }: { readonly id: string; readonly time: string }): Identity {
  return { id: JSON.parse(id) as string, ...(time === '' ? {} : { time }) }
}

/** Bytes of all dead letters. Inside of a transaction. */
export function allLetterBytes(database: Database): number {
  return database.one<{ bytes: number }>('SELECT coalesce(sum(bytes), 0) AS bytes FROM letter_total')!.bytes
}

/** A letter of the same event replaces the earlier one. Inside of a write. */
export function addLetters(database: Database, letters: readonly DeadLetter[]): void {
  const sql = `INSERT INTO letter (zone, day, sink, id, time, reason, answer, at, event, bytes)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
  for (const letter of letters) {
    removeLetter(database, letter)
    const { zone, day, sink, reason, answer, at, event } = letter
    const id = JSON.stringify(letter.id)
    const bytes = letterBytes(letter)
    database.run(sql, zone, day, sink, id, letter.time ?? '', reason, answer, at, event, bytes)
  }
}

/** How many there were. Inside of a write. */
export function removeLetter(database: Database, { zone, day, sink, id, time }: LetterKey): number {
  const sql = 'DELETE FROM letter WHERE zone = ? AND day = ? AND sink = ? AND id = ? AND time = ?'
  return database.run(sql, zone, day, sink, JSON.stringify(id), time ?? '')
}
