import { setImmediate } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import type { Status } from '../domain/status/status.ts'
import { Planner } from '../plan/planner.ts'
import { StreamTally } from '../status/observe.ts'
import { statusOf } from '../status/status.ts'
import { isRetired } from '../discovery/with-zones.ts'
import { heldSinks, undecidedSinks } from './held-sinks.ts'
import { policyOf, zonesOf } from '../config/planned.ts'
import { stateName, workersOn } from './state.ts'
import { openWork } from './work.ts'

interface StatusReading {
  readonly status: Status
  /** With the zones that a run ships. */
  readonly config: Config
  /** Where the state is kept. */
  readonly state: string
  /** False where nothing was ever shipped: the status is that of a first `run`. */
  readonly hasStore: boolean
  /** Sinks that may be held: this process does not know their address. */
  readonly undecided: readonly string[]
}

/** Reads the status from the store, beside a running process or without one. Creates nothing. Throws Failure. */
export async function readStatus(configured: Config, signal: AbortSignal): Promise<StatusReading> {
  await using work = await openWork(configured, { store: 'existing', zones: 'stored' }, signal)
  const { config, store, hasStore, runtime } = work
  const sinks = config.sinks.map(({ name }) => name)
  const held = hasStore ? await heldSinks(config, store) : new Map<string, string>()
  const undecided = hasStore ? await undecidedSinks(config, store) : []
  const settings = { zones: zonesOf(config), sinks, policy: policyOf(config), held }
  const deps = { ...runtime, store, settings: () => settings, turn: setImmediate }
  const status = await statusOf({
    ...deps,
    planner: new Planner(deps),
    active: new StreamTally(),
    workers: () => workersOn(config, runtime.clock),
    isRetired: (zone) => isRetired(config, zone),
  })
  const whole = { ...status, routes: [...status.routes] }
  return { status: whole, config, state: stateName(config), hasStore, undecided }
}
