import type { Config } from '../config/schema.ts'
import type { RedisStateConfig } from '../config/state.ts'
import { isFailure } from '../domain/failure.ts'
import { readProcessName } from '../domain/plan/process-name.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { Clock, ScheduleLock, Telemetry } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'
import { stateKind, type OpenStoreOptions } from '../state/registry.ts'

const silent: Telemetry = { emit: () => undefined }

/** Opens the store that the configuration names. Throws Failure. `telemetry` gets the events of a store behind a server. */
export function openStore(
  { state, deadLetters }: Config,
  clock: Clock,
  { create = true, telemetry = silent }: Partial<Pick<OpenStoreOptions, 'create' | 'telemetry'>> = {},
): Promise<Store> {
  const deadLetterMaxBytes = deadLetters.maxBytes
  return stateKind(state).open({ clock, telemetry, deadLetterMaxBytes, create })
}

/** Throws where a run could not keep its state in the configured store. */
export function probeStore(
  { state, deadLetters }: Config,
  clock: Clock,
  telemetry: Telemetry,
): Promise<void> {
  const deadLetterMaxBytes = deadLetters.maxBytes
  return stateKind(state).probe({ clock, telemetry, deadLetterMaxBytes, create: true })
}

/** The Redis state that a fleet shares; undefined where one process does everything. */
export function fleetState({ state }: Config): RedisStateConfig | undefined {
  return state.kind === 'redis' ? state : undefined
}

/** The lock against a second schedule on a store; over Redis it counts as held while any process lives there. */
export function createLock(config: Config, clock: Clock): ScheduleLock {
  const fleet = fleetState(config)
  return fleet === undefined ? stateKind(config.state).lock!(clock) : fleetLock(fleet, clock)
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

/** For people: where the state is kept, without secrets. */
export function stateName({ state }: Config): string {
  return stateKind(state).name
}

/** For commands that read or change an existing store: creates none. Undefined where nothing was ever shipped. */
export async function openExistingStore(config: Config, clock: Clock): Promise<Store | undefined> {
  if (!stateKind(config.state).exists()) return undefined
  return openStore(config, clock, { create: false }).catch((error: unknown) => {
    // Whether a Redis holds a store is known only after the connection.
    if (isFailure(error, 'no_store')) return undefined
    throw error
  })
}

/** Lists the processes that ship over a Redis, for a process that is not one of them. */
async function fleetWorkers(state: RedisStateConfig, clock: Clock): Promise<WorkerStatus[]> {
  const [{ connectRedis }, { livingProcesses }] = await Promise.all([
    import('../redis/connection.ts'),
    import('../redis/process-record.ts'),
  ])
  const client = connectRedis(state, { manner: 'prompt', name: `${state.keyPrefix}:asking` }, () => undefined)
  try {
    return await livingProcesses(state.keyPrefix, { client, clock })
  } finally {
    client.disconnect()
  }
}

/**
 * For commands that must be alone on a store: granted while no process lives there. It does not stop a process from
 * starting; the fencing tokens of the streams make that harmless.
 */
function fleetLock(state: RedisStateConfig, clock: Clock): ScheduleLock {
  const holder = async () => (await fleetWorkers(state, clock))[0]?.name
  return {
    async acquire() {
      const other = await holder()
      return other === undefined ? { ok: true } : { ok: false, holder: other }
    },
    holder,
    release: async () => undefined,
  }
}
