import { randomUUID } from 'node:crypto'
import type { Holder, WorkerStatus, Store } from '../ports/store.ts'
import { existsSync } from 'node:fs'
import type { Config } from '../config/schema.ts'
import type { RedisStateConfig } from '../config/state.ts'
import { Failure, isFailure } from '../domain/failure.ts'
import { nameOf } from '../domain/redis-servers.ts'
import type { Clock, ScheduleLock, Telemetry } from '../ports/process.ts'
import { openLedger } from '../state/ledger/store.ts'
import { probeStateFile } from '../state/sqlite/state-file.ts'
import { openMemoryRecords, openSqliteRecords } from '../state/sqlite/records.ts'
import { createScheduleLock, readHolder, refuseRemoved } from '../state/sqlite/schedule-lock.ts'

interface Opening {
  /** False refuses a place without a store instead of making one; `no_store` where only opening shows that. */
  readonly create?: boolean
  /** Gets the events of a store behind a server. */
  readonly telemetry?: Telemetry
}

/** Opens the store that the configuration names. Throws Failure. */
export async function openStore(
  config: Config,
  clock: Clock,
  { create = true, telemetry = { emit: () => undefined } }: Opening = {},
): Promise<Store> {
  const { state, deadLetters } = config
  const options = { clock, create, deadLetterMaxBytes: deadLetters.maxBytes, place: stateName(config) }
  if (state.kind === 'sqlite')
    return openLedger({ ...options, records: await openSqliteRecords({ ...state, clock, create }) })
  // The client takes 20 MB, which a process without Redis does not need.
  const { openRedisRecords } = await import('../state/redis/records.ts')
  return openLedger({ ...options, records: await openRedisRecords({ state, clock, telemetry }) })
}

/** An empty store that ends with the process. */
export async function openEmptyStore({ deadLetters }: Config, clock: Clock): Promise<Store> {
  const records = await openMemoryRecords(clock)
  return openLedger({ records, clock, deadLetterMaxBytes: deadLetters.maxBytes, place: 'memory' })
}

/** Throws where a run could not keep its state in the configured store. Leaves no file. */
export async function probeStore(config: Config, clock: Clock, telemetry: Telemetry): Promise<void> {
  const { state } = config
  if (state.kind === 'sqlite' && !existsSync(state.path)) {
    refuseRemoved(state.path)
    return probeStateFile(state.path)
  }
  const store = await openStore(config, clock, { telemetry })
  try {
    await store.writes.tryOne()
    const failure = store.writes.failure()
    if (failure !== undefined) throw new Failure('stop', 'store_refuses', failure.message)
  } finally {
    await store.close()
  }
}

/** For commands that read or change an existing store: creates none. Undefined where nothing was ever shipped. */
export async function openExistingStore(config: Config, clock: Clock): Promise<Store | undefined> {
  if (config.state.kind === 'sqlite' && !existsSync(config.state.path)) {
    refuseRemoved(config.state.path)
    return undefined
  }
  return openStore(config, clock, { create: false }).catch((error: unknown) => {
    // Whether a Redis holds a store is known only after the connection.
    if (isFailure(error, 'no_store')) return undefined
    throw error
  })
}

/** For people: where the state is kept, without secrets. */
export function stateName({ state }: Config): string {
  return state.kind === 'sqlite' ? `sqlite:${state.path}` : nameOf(state)
}

/** The Redis state that a fleet shares; undefined where one process does everything. */
export function fleetState({ state }: Config): RedisStateConfig | undefined {
  return state.kind === 'redis' ? state : undefined
}

/**
 * The lock against a second schedule on a store. Over Redis it counts as held while any process lives there; it does not
 * stop one from starting, which the fencing tokens of the streams make harmless.
 */
export function createLock({ state }: Config, store: Store, clock: Clock): ScheduleLock {
  if (state.kind === 'sqlite') return createScheduleLock(state.path, clock)
  const holder = async () => (await workersIn(store))[0]?.name
  return { acquire: holder, holder, release: async () => undefined }
}

/** The processes that ship on a store now: on an embedded one at most that which holds its schedule lock. */
export async function workersOn(config: Config, store: Store, clock: Clock): Promise<WorkerStatus[]> {
  return config.state.kind === 'redis' ? workersIn(store) : embeddedWorkers(config, clock)
}

/** The same of an embedded store, also of one that cannot be opened; none where many share a store. */
export async function embeddedWorkers({ state }: Config, clock: Clock): Promise<WorkerStatus[]> {
  if (state.kind !== 'sqlite') return []
  const name = await createScheduleLock(state.path, clock).holder()
  return name === undefined ? [] : [{ role: 'all', name, ...readHolder(name) }]
}

/** The processes of a fleet, the oldest first. */
async function workersIn({ processes }: Store): Promise<WorkerStatus[]> {
  const { nowMs, living } = await processes.living()
  return living.map(({ role, pid, host, startedAtMs, heardAtMs }) => {
    const startedAt = new Date(startedAtMs).toISOString()
    const seenSeconds = Math.max(0, Math.round((nowMs - heardAtMs) / 1000))
    const name = `process ${pid} on ${host} since ${startedAt}, seen ${seenSeconds} s ago`
    return { role, name, pid, host, startedAt }
  })
}

/** Identity of a process that pumps: random, never reused. */
export function createHolder(schedule: boolean): Holder {
  return { id: randomUUID(), schedule }
}
