import { setImmediate } from 'node:timers/promises'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Database } from './database.ts'
import { checkpointOf } from './streams.ts'

interface Listed {
  readonly commitNumber: number
  readonly checkpoint: Checkpoint
}

interface Head extends Stream {
  readonly id: number
  readonly commit_number: number
}

/** Checkpoints parsed before the event loop turns. */
const parsedAtOnce = 200

/**
 * All checkpoints, as the schedule wants them every second: those that have not been committed since the last listing
 * are not read again. Other processes write too, so the commit numbers are always read.
 */
export function createListing(database: Database): () => Promise<Checkpoint[]> {
  let listed: ReadonlyMap<number, Listed> = new Map()

  function fresh(head: Head): Listed | undefined {
    const held = listed.get(head.id)
    // A sink may have been renamed without a commit.
    return held?.commitNumber === head.commit_number && held.checkpoint.stream.sink === head.sink
      ? held
      : undefined
  }

  function readAgain(head: Head): Listed | undefined {
    const row = database.one<{ body: string }>('SELECT body FROM checkpoint WHERE stream = ?', head.id)
    return row && { commitNumber: head.commit_number, checkpoint: checkpointOf(head, row.body) }
  }

  return async () => {
    const heads = await database.read(() =>
      database.all<Head>('SELECT id, zone, day, sink, commit_number FROM stream ORDER BY id'),
    )
    const next = new Map<number, Listed>()
    let parsed = 0
    for (const head of heads) {
      let item = fresh(head)
      if (item === undefined) {
        item = await database.read(() => readAgain(head))
        if (++parsed % parsedAtOnce === 0) await setImmediate()
      }
      if (item !== undefined) next.set(head.id, item)
    }
    listed = next
    return [...next.values()].map(({ checkpoint }) => checkpoint)
  }
}
