import type { Config } from '../config/schema/schema.ts'
import type { RedisStateConfig } from '../config/schema/state.ts'
import { readProcessName } from '../domain/plan/process-name.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { Clock } from '../ports/clock.ts'
import type { ScheduleLock } from '../ports/schedule.ts'
import type { Store } from '../ports/store.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import { stateKind } from '../state/registry.ts'
import type { OpenStoreOptions } from '../state/state-kind.ts'
import { fleetLock, fleetWorkers } from './daemon/fleet-workers.ts'

interface OpenOptions {
  /** False creates no store where there is none. */
  readonly create?: boolean
  /** Receives the events of a store behind a server. */
  readonly telemetry?: Telemetry
}

const silent: Telemetry = { emit: () => undefined }

/** Opens the store that the configuration names. Throws Failure. */
export function openStore(config: Config, clock: Clock, options: OpenOptions = {}): Promise<Store> {
  return stateKind(config.state).open(storeOptions(config, clock, options))
}

/** Throws where a run could not keep its state in the configured store. */
export function probeStore(config: Config, clock: Clock, telemetry: Telemetry): Promise<void> {
  return stateKind(config.state).probe(storeOptions(config, clock, { telemetry }))
}

function storeOptions(
  { deadLetters }: Config,
  clock: Clock,
  { create = true, telemetry = silent }: OpenOptions,
): OpenStoreOptions {
  return { clock, telemetry, deadLetterMaxBytes: deadLetters.maxBytes, create }
}

/** The Redis state that a fleet shares; undefined where one process does everything. */
export function fleetState({ state }: Config): RedisStateConfig | undefined {
  return state.kind === 'redis' ? state : undefined
}

/** The lock against a second schedule on a store; over Redis it counts as held while any process lives there. */
export function createLock(config: Config, clock: Clock): ScheduleLock {
  const fleet = fleetState(config)
  if (fleet !== undefined) return fleetLock(fleet, clock)
  const lock = stateKind(config.state).lock?.(clock)
  if (lock === undefined) throw new TypeError('a store that is no fleet has a lock')
  return lock
}

/** The processes that ship on the store now. */
export async function workersOn(config: Config, clock: Clock): Promise<WorkerStatus[]> {
  const fleet = fleetState(config)
  return fleet === undefined ? workersOf(createLock(config, clock)) : fleetWorkers(fleet, clock)
}

/** Of an embedded store: at most the process that holds its schedule lock. */
export async function workersOf(lock: ScheduleLock): Promise<WorkerStatus[]> {
  const name = await lock.holder()
  return name === undefined ? [] : [{ role: 'all', name, ...readProcessName(name) }]
}
