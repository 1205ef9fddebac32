import type { Store } from '../../ports/store.ts'
import { createHolders, createProcesses, type OwnStreams } from './streams.ts'
import { createBackfills } from './backfills.ts'
import { createCatalogue } from './catalogue.ts'
import { createCommits } from './commits.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createObjectSizes } from './objects.ts'
import { createMinutes, createLoadSeen } from './seen.ts'
import { Root } from './root.ts'
import { createForget, createRenameSink, createPrune } from './upkeep.ts'
import { watchWrites } from './writes.ts'

interface LedgerOptions extends Pick<Root, 'records' | 'clock' | 'place'> {
  /** Of each sink. */
  readonly deadLetterMaxBytes: number
  /** False refuses records without a store instead of making one there. */
  readonly create?: boolean
}

/** A store over records; makes it if there is none. Throws `no_store` and `store_refuses`, and closes the records then. */
export async function openLedger({
  deadLetterMaxBytes,
  create = true,
  ...options
}: LedgerOptions): Promise<Store> {
  const { records, writes } = watchWrites(options.records, options.clock)
  const root = new Root({ ...options, records })
  try {
    await root.open(create)
  } catch (error) {
    await records.close()
    throw error
  }
  const own: OwnStreams = new Map()
  const holders = createHolders(root, own)
  const { dropIndex, ...minutes } = createMinutes(root)
  const backfills = createBackfills(root)
  const processes = createProcesses(root)
  return {
    get id() {
      return root.id
    },
    ledger: {
      ...holders,
      async heartbeat(holder, facts) {
        await holders.heartbeat(holder, facts)
        if (writes.failure() !== undefined) await writes.tryOne()
      },
      commit: createCommits(root, own, deadLetterMaxBytes),
      loadSeen: createLoadSeen(root, own),
      ...minutes,
      objectSizes: createObjectSizes(root),
    },
    catalogue: createCatalogue(root),
    deadLetters: createDeadLetters(root),
    backfills,
    processes,
    writes,
    upkeep: {
      dropIndex,
      renameSink: createRenameSink(root),
      forget: createForget(root),
      prune: createPrune(root, backfills, processes),
    },
    close: () => records.close(),
  }
}
