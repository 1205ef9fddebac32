import { setImmediate } from 'node:timers/promises'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import { listed } from '../listed.ts'
import { createTurns } from '../turns.ts'
import type { Database } from './database/database.ts'
import { checkpointOf, streamOfRow, type StreamColumns } from './streams.ts'

interface Head extends StreamColumns {
  readonly id: number
}

interface Changes {
  readonly changes: number
  readonly removals: number
  readonly changed: readonly Head[]
  /** Undefined when no stream was removed since the last list. */
  readonly left: ReadonlySet<number> | undefined
}

/** How many checkpoints are parsed before the event loop turns. */
const parsedAtOnce = 200

/** All checkpoints, for a plan every second: reads only those that changed since the last list. */
export function createListing(database: Database): () => Promise<Checkpoint[]> {
  const inTurn = createTurns()
  const known = new Map<number, Checkpoint>()
  let before: Pick<Changes, 'changes' | 'removals'> = { changes: 0, removals: 0 }

  return () =>
    inTurn(async () => {
      const now = await database.read(() => readChanges(database, before))
      for (const [index, head] of now.changed.entries()) {
        const checkpoint = await database.read(() => readOne(database, head))
        if (checkpoint !== undefined) known.set(head.id, listed(checkpoint))
        if (index % parsedAtOnce === parsedAtOnce - 1) await setImmediate()
      }
      if (now.left !== undefined) for (const id of known.keys()) if (!now.left.has(id)) known.delete(id)
      before = now
      return [...known.values()]
    })
}

function readChanges(database: Database, before: Pick<Changes, 'changes' | 'removals'>): Changes {
  const now = database.one<{ changes: number; removals: number }>('SELECT changes, removals FROM store')!
  const changed =
    now.changes === before.changes
      ? []
      : database.all<Head>(
          'SELECT id, zone, day, sink FROM stream WHERE changed > ? ORDER BY id',
          before.changes,
        )
  const left =
    now.removals === before.removals
      ? undefined
      : new Set(database.all<{ id: number }>('SELECT id FROM stream').map(({ id }) => id))
  return { changes: now.changes, removals: now.removals, changed, left }
}

function readOne(database: Database, head: Head): Checkpoint | undefined {
  const row = database.one<{ body: string }>('SELECT body FROM checkpoint WHERE stream = ?', head.id)
  return row && checkpointOf(streamOfRow(head), row.body)
}
