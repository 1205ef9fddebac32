import { resolve } from 'node:path'
import type { Clock } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'
import { withLaterReleases } from '../ledger/later-releases.ts'
import { createBackfills } from './backfills.ts'
import { createCommits } from './commits.ts'
import { openDatabase, type Database } from './database/database.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createFingerprints } from './fingerprints.ts'
import { createListing } from './listing.ts'
import { insertGaps, insertRoutes, markGaps, readGaps, readRoutes } from './gaps.ts'
import { createPruning } from './prune.ts'
import { createRenameSink } from './rename-sink.ts'
import { checkSchema, ensureSchema } from './database/schema.ts'
import { prepareStateFile } from './database/state-file.ts'
import { createSinks } from './sinks.ts'
import { createStreams } from './streams.ts'
import { createZoneLists } from './zone-lists.ts'

export interface SqliteStoreOptions {
  /** A file, relative to the working directory; `:memory:` for a private one that ends with the process. */
  readonly path: string
  readonly clock: Clock
  readonly deadLetterMaxBytes: number
  /** False refuses a path without a store instead of making one there. */
  readonly create?: boolean
}

/** Opens the store, and makes it if there is none. Throws `store_refuses`. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { clock, deadLetterMaxBytes, create = true } = options
  const path = options.path === ':memory:' ? options.path : resolve(options.path)
  if (path !== ':memory:') prepareStateFile(path, create)
  const database = await openDatabase(path)
  try {
    await checkSchema(database)
    await database.configure()
    await ensureSchema(database, clock.now())
    const id = await database.read(() => database.one<{ id: string }>('SELECT id FROM store')!.id)
    return createStore(id, database, clock, deadLetterMaxBytes)
  } catch (error) {
    database.close()
    throw error
  }
}

function createStore(id: string, database: Database, clock: Clock, deadLetterMaxBytes: number): Store {
  const { forget, ...fingerprints } = createFingerprints(database, clock)
  const { prune, reclaim } = createPruning(database, clock)
  return {
    id,
    ledger: {
      ...withLaterReleases(createStreams(database, id, clock)),
      commit: createCommits({ deadLetterMaxBytes }, database, clock),
      ...fingerprints,
    },
    catalogue: {
      checkpoints: createListing(database),
      routes: () => database.read(() => readRoutes(database)),
      rememberRoutes: (routes) => database.write(() => insertRoutes(database, routes)),
      gaps: () => database.read(() => readGaps(database)),
      addGaps: (gaps) => database.write(() => insertGaps(database, gaps)),
      acknowledgeGaps: (gaps, atMs) => database.write(() => markGaps(database, gaps, atMs)),
      ...createSinks(database),
      ...createZoneLists(database),
    },
    deadLetters: createDeadLetters(database),
    backfills: createBackfills(database),
    upkeep: {
      async dropIndex(stream) {
        const isForgotten = await forget(stream)
        await reclaim()
        return isForgotten
      },
      renameSink: createRenameSink(database, clock),
      prune,
    },
    close: async () => database.close(),
  }
}
