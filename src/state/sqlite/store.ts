import { resolve } from 'node:path'
import type { CheckpointStore, Clock } from '../../ports.ts'
import { createBackfills } from './backfills.ts'
import { createCommits } from './commits.ts'
import { openDatabase, type Database } from './database.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createFingerprints } from './fingerprints.ts'
import { createListing } from './listing.ts'
import { insertGaps, insertPairs, readGaps, readPairs } from './gaps.ts'
import { createPruning } from './prune.ts'
import { createRenameSink } from './rename-sink.ts'
import { checkSchema, ensureSchema } from './schema.ts'
import { prepareStateFile } from './state-file.ts'
import { createStreams } from './streams.ts'

export interface SqliteStoreOptions {
  /** A file, relative to the working directory; `:memory:` for one that nobody else sees and that ends with it. */
  readonly path: string
  readonly clock: Clock
  readonly deadLetterMaxBytes: number
  /** False refuses a path without a store instead of making one there. */
  readonly create?: boolean
}

/** Opens the store, and makes it where there is none. Throws `store_refuses`. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<CheckpointStore> {
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

function createStore(
  id: string,
  database: Database,
  clock: Clock,
  deadLetterMaxBytes: number,
): CheckpointStore {
  const fingerprints = createFingerprints(database)
  const letters = createDeadLetters(database)
  const { prune, reclaim } = createPruning(database, clock)
  return {
    id,
    ...createStreams(database, id, clock),
    commit: createCommits({ deadLetterMaxBytes }, database, clock),
    list: createListing(database),
    loadSeen: fingerprints.loadSeen,
    ledger: fingerprints.ledger,
    async forgetFingerprints(stream) {
      await fingerprints.forget(stream)
      await reclaim()
    },
    pairs: () => database.read(() => readPairs(database)),
    rememberPairs: (pairs) => database.write(() => insertPairs(database, pairs)),
    gaps: () => database.read(() => readGaps(database)),
    addGaps: (gaps) => database.write(() => insertGaps(database, gaps)),
    deadLetters: letters.list,
    deadLetterStreams: letters.streams,
    deadLetterKeys: letters.keys,
    deadLettersOf: letters.some,
    removeDeadLetters: letters.remove,
    ...createBackfills(database),
    renameSink: createRenameSink(database, clock),
    prune,
    close: async () => database.close(),
  }
}
