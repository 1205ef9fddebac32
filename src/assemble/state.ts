import type { Config } from '../config/schema.ts'
import type { WorkerStatus } from '../domain/status.ts'
import type { Clock } from '../ports/clock.ts'
import type { ScheduleLock } from '../ports/schedule.ts'
import type { Store } from '../ports/store.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import { createScheduleLock } from '../state/sqlite/schedule-lock.ts'
import { openSqliteStore } from '../state/sqlite/store.ts'
import { fleetLock, fleetWorkers } from './fleet-workers.ts'

export interface OpenStoreOptions {
  /** False makes nothing where there is no store. */
  readonly create?: boolean
  /** Hears what a server in between has to say; nobody where none is given. */
  readonly telemetry?: Telemetry
}

const silent: Telemetry = { emit: () => undefined }

/** The checkpoint store that the configuration names. Throws Failure. */
export async function openStore(
  config: Config,
  clock: Clock,
  { create = true, telemetry = silent }: OpenStoreOptions = {},
): Promise<Store> {
  const { state } = config
  const deadLetterMaxBytes = config.deadLetters.maxBytes
  if (state.kind === 'sqlite') return openSqliteStore({ path: state.path, clock, deadLetterMaxBytes, create })
  const { readableDays } = config.poll
  const { openRedisStore } = await import('../state/redis/store.ts')
  return openRedisStore({ state, clock, telemetry, deadLetterMaxBytes, readableDays, create })
}

/** What keeps a second schedule off a store; over Redis any process that lives there. */
export function createLock({ state }: Config, clock: Clock): ScheduleLock {
  return state.kind === 'sqlite' ? createScheduleLock({ path: state.path, clock }) : fleetLock(state, clock)
}

/** Who ships on the store now. */
export async function workersOn(config: Config, clock: Clock): Promise<WorkerStatus[]> {
  if (config.state.kind === 'redis') return fleetWorkers(config.state, clock)
  return workersOf(createLock(config, clock))
}

/** Of an embedded store at most the process that holds its schedule lock. */
export async function workersOf(lock: ScheduleLock): Promise<WorkerStatus[]> {
  const name = await lock.holder()
  return name === undefined ? [] : [{ role: 'all', name }]
}
