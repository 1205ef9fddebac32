import { setImmediate } from 'node:timers/promises'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import { createInTurn } from '../../domain/promises.ts'
import { listed } from '../listed.ts'
import type { Database } from './database/database.ts'
import { checkpointOf, streamOfRow, type StreamColumns } from './streams.ts'

interface Row extends StreamColumns {
  readonly id: number
  readonly body: string
}

interface Counters {
  readonly changes: number
  readonly removals: number
}

/** Checkpoints that are read and parsed in one step of the event loop, in about 5 ms. */
export const checkpointsAtOnce = 64
const idsAtOnce = 4_096

/** All checkpoints, for a plan every second: reads only those that changed since the last list. */
export function createListing(database: Database): () => Promise<Checkpoint[]> {
  const inTurn = createInTurn()
  const known = new Map<number, Checkpoint>()
  let before: Counters = { changes: 0, removals: 0 }

  async function readChanged(): Promise<void> {
    const sql = `SELECT id, zone, day, sink, body FROM stream JOIN checkpoint ON checkpoint.stream = id
      WHERE changed > ? AND id > ? ORDER BY id LIMIT ?`
    const read = (after: number) => database.all<Row>(sql, before.changes, after, checkpointsAtOnce)
    for await (const rows of pages(database, read, checkpointsAtOnce))
      for (const row of rows) known.set(row.id, listed(checkpointOf(streamOfRow(row), row.body)))
  }

  async function dropRemoved(): Promise<void> {
    const sql = 'SELECT id FROM stream WHERE id > ? ORDER BY id LIMIT ?'
    const read = (after: number) => database.all<{ id: number }>(sql, after, idsAtOnce)
    const left = new Set<number>()
    for await (const rows of pages(database, read, idsAtOnce)) for (const { id } of rows) left.add(id)
    for (const id of known.keys()) if (!left.has(id)) known.delete(id)
  }

  return () =>
    inTurn(async () => {
      const now = await database.read(() => database.one<Counters>('SELECT changes, removals FROM store')!)
      // What changes during these steps has a higher number, and is read again for the next list.
      if (now.changes !== before.changes) await readChanged()
      if (now.removals !== before.removals) await dropRemoved()
      before = now
      return [...known.values()]
    })
}

/** Rows in the order of their ids, a page in each step; lets the event loop turn between two. */
async function* pages<Each extends { readonly id: number }>(
  database: Database,
  read: (after: number) => Each[],
  size: number,
): AsyncGenerator<Each[]> {
  for (let after = 0; ; await setImmediate()) {
    const rows = await database.read(() => read(after))
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < size) return
    after = last.id
  }
}
