import type { Clock, Telemetry } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'
import type { RedisServers } from '../../redis/connection.ts'
import { withLaterReleases } from '../ledger/later-releases.ts'
import { createBackfills } from './backfills.ts'
import { createCheckpointList } from './checkpoint-list.ts'
import { createCommits } from './commits.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createGaps, createRoutes } from './gaps.ts'
import { createKeys } from './keys.ts'
import { createLink, type Link } from './server/link.ts'
import { createMinutes } from './minutes.ts'
import { createPruning } from './prune.ts'
import { createRenameSink } from './rename-sink.ts'
import { createLoadSeen } from './seen.ts'
import { createSinks } from './sinks.ts'
import { checkServers } from './server/server-checks.ts'
import { createIdentity } from './store-identity.ts'
import { createStreams, type Instant } from './streams.ts'
import { createZoneLists } from './zone-lists.ts'

/** The settings of a store in Redis. */
export interface RedisState extends RedisServers {
  readonly keyPrefix: string
}

export interface RedisStoreOptions {
  readonly state: RedisState
  readonly clock: Clock
  readonly deadLetterMaxBytes: number
  readonly telemetry: Telemetry
  /** False refuses a prefix without a store instead of making one there. */
  readonly create?: boolean
  /** Replaces the clock of Redis, which decides when a holder is dead; ms since the epoch. For tests. */
  readonly redisNow?: () => number
}

/**
 * Connects, checks whether the server can keep a store, and makes the store if there is none. Throws
 * `store_unavailable` when no server answers within seconds, and `store_refuses`.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { state, clock, telemetry, create = true } = options
  const link = createLink(state, state.keyPrefix, clock)
  try {
    await checkServers(link, state.topology, telemetry)
    return await createStore(options, link, create)
  } catch (error) {
    link.close()
    throw error
  }
}

async function createStore(options: RedisStoreOptions, link: Link, create: boolean): Promise<Store> {
  const { state, clock, deadLetterMaxBytes, redisNow } = options
  const instant: Instant = () => (redisNow === undefined ? '' : String(redisNow()))
  const keys = createKeys(state.keyPrefix)
  const identity = createIdentity(link, keys, clock)
  const { forget, ...minutes } = createMinutes({ link, keys, instant })
  const gaps = createGaps(link, keys)
  const backfills = createBackfills(link, keys)
  await identity.open(create)
  return {
    get id() {
      return identity.latest()
    },
    ledger: {
      ...withLaterReleases(createStreams({ link, keys, clock, identity, instant })),
      commit: createCommits({ deadLetterMaxBytes }, link, keys, instant),
      loadSeen: createLoadSeen(link, keys),
      ...minutes,
    },
    catalogue: {
      checkpoints: createCheckpointList(link, keys),
      ...createRoutes(link, keys),
      gaps: gaps.list,
      addGaps: gaps.add,
      acknowledgeGaps: gaps.acknowledge,
      ...createSinks(link, keys),
      ...createZoneLists(link, keys),
    },
    deadLetters: createDeadLetters(link, keys),
    backfills,
    upkeep: {
      dropIndex: forget,
      renameSink: createRenameSink(link, keys, clock, instant),
      ...createPruning({ link, keys, gaps, backfills, instant }),
    },
    close: async () => link.close(),
  }
}
