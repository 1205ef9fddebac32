import { setImmediate } from 'node:timers/promises'
import type { Config } from '../../config/schema.ts'
import { Planner } from '../../plan/planner.ts'
import { readFleet, statusOf, type Choose } from '../../status/fleet.ts'
import { isRetired } from '../../discovery/with-zones.ts'
import { heldSinks } from '../../assemble/held-sinks.ts'
import { policyOf } from '../../config/policy.ts'
import { stateName, workersOn } from '../../assemble/state.ts'
import { blindSinks, foreignParts } from '../../assemble/other-state.ts'
import { openWork } from '../../assemble/work.ts'

/**
 * Reads the status from the store, beside a running process or without one, of what `choose` chooses from the
 * configuration with the zones that a run ships. Creates nothing. Throws Failure.
 */
export async function readStatus(
  configured: Config,
  choose: (config: Config) => Choose,
  signal: AbortSignal,
) {
  await using work = await openWork(configured, { store: 'existing', zones: 'stored' }, signal)
  const { config, store, hasStore, runtime } = work
  // A full store can be read, and no other command tells whether a process that ships can write it.
  if (hasStore) await store.writes.tryOne()
  const sinks = config.sinks.map(({ name }) => name)
  const held = hasStore ? await heldSinks(config, store) : new Map<string, string>()
  const settings = { zones: config.zones, sinks, policy: policyOf(config), held }
  const deps = { ...runtime, store, settings: () => settings, turn: setImmediate }
  const fleet = await readFleet(
    {
      ...deps,
      planner: new Planner(deps),
      workers: () => workersOn(config, store, runtime.clock),
      isRetired: (zone) => isRetired(config, zone),
      foreign: () => foreignParts(config, store.id, runtime.clock),
      blindSinks: blindSinks(config),
    },
    choose(config),
  )
  const status = statusOf(fleet)
  return {
    status: { ...status, routes: [...status.routes] },
    /** Where it is kept. */
    state: stateName(config),
    /** False where nothing was ever shipped: the status is that of a first `run`. */
    hasStore,
  }
}
