import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../clock.ts'
import type { Loaded } from '../config/load.ts'
import type { Status } from '../domain/status/status.ts'
import { Planner } from '../plan/planner.ts'
import { createApiClock } from '../pump/api-clock.ts'
import { statusOf } from '../status/status.ts'
import { zoneListsOf } from './zones-for-commands.ts'
import { isRetired, withZones } from '../discovery/with-zones.ts'
import { heldSinks, undecidedSinks } from './held-sinks.ts'
import { policyOf, zonesOf } from '../config/planned.ts'
import { stateName, withStoreToLook, workersOn } from './state.ts'

/** A planner that only plans emits nothing. */
const silent = { emit: () => undefined }

interface StatusReading {
  readonly status: Status
  /** Where the state is kept. */
  readonly state: string
  /** False where nothing was ever shipped: the status is that of a first `run`. */
  readonly hasStore: boolean
  /** Sinks that may be held: this process does not know their address. */
  readonly undecided: readonly string[]
}

/**
 * Reads the status from the store at each call, beside a running process or without one. Creates nothing. A call throws
 * Failure.
 */
export function createStatusReader({ config }: Loaded): () => Promise<StatusReading> {
  const clock = systemClock
  const apiClock = createApiClock(clock)
  const sinks = config.sinks.map(({ name }) => name)
  const policy = policyOf(config)
  const workers = () => workersOn(config, clock)
  return () =>
    withStoreToLook(config, clock, async (store, hasStore) => {
      const zones = zonesOf(withZones(config, await zoneListsOf(store)))
      const held = hasStore ? await heldSinks(config, store) : new Map<string, string>()
      const undecided = hasStore ? await undecidedSinks(config, store) : []
      const settings = { zones, sinks, policy, held }
      const planner = new Planner({
        store,
        clock,
        turn: setImmediate,
        apiClock,
        telemetry: silent,
        settings: () => settings,
      })
      const deps = {
        store,
        clock,
        apiClock,
        planner,
        settings: () => settings,
        active: () => 0,
        workers,
        isRetired: (zone: number) => isRetired(config, zone),
        turn: setImmediate,
      }
      const status = await statusOf(deps)
      const whole = { ...status, routes: [...status.routes] }
      return { status: whole, state: stateName(config), hasStore, undecided }
    })
}
