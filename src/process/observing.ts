import { setImmediate } from 'node:timers/promises'
import { blindSinks, foreignParts } from '../assemble/other-state.ts'
import type { Runtime } from '../assemble/runtime.ts'
import type { Shipping } from '../assemble/shipping.ts'
import { workersOn } from '../assemble/state.ts'
import { version } from '../assemble/version.ts'
import type { Config } from '../config/schema.ts'
import { isRetired } from '../discovery/with-zones.ts'
import type { Observation } from '../domain/observation.ts'
import { keepLatest, repeat } from '../domain/promises.ts'
import { readFleet, statusOf } from '../status/fleet.ts'
import type { LagHistory } from '../status/lag-history.ts'
import { readPage, type PageDeps } from '../status/map.ts'
import { observe } from '../status/observe.ts'
import { createStatusViews } from '../status/views.ts'
import type { Backend } from './backend.ts'

export interface ObservingOptions {
  readonly runtime: Runtime
  readonly backend: Backend
  /** Of the last hour; a reload keeps it. */
  readonly history: LagHistory
}

/** Viewers who ask within this time share one reading of the store. */
const freshMs = 2_000
const sampleEveryMs = 30_000
/** Of a file sink all folders are listed. */
const foreignFreshMs = 60_000

/** Reads the fleet for metrics, readiness, status and page, and keeps the lag of the last hour. */
export function createObserving(
  config: Config,
  shipping: Shipping,
  { active, queued }: Required<Pick<PageDeps, 'active' | 'queued'>>,
  { runtime, backend, history }: ObservingOptions,
) {
  const { clock } = runtime
  const { reading, settings, deps, planner } = shipping
  const fleetDeps: PageDeps = {
    ...deps,
    planner,
    settings,
    active,
    queued,
    keepDays: config.state.keepDays,
    workers: () => workersOn(config, backend.store, clock),
    isRetired: (zone) => isRetired(config, zone),
    foreign: keepLatest(() => foreignParts(config, backend.store.id, clock), foreignFreshMs, clock).read,
    blindSinks: blindSinks(config),
    turn: setImmediate,
    async pauses() {
      const all = config.accounts.map(async ({ name }) => {
        const untilMs = await reading.gateOf(name).pausedUntil()
        return untilMs === undefined ? [] : [{ account: name, until: new Date(untilMs).toISOString() }]
      })
      return (await Promise.all(all)).flat()
    },
  }

  function noteHistory({ routes }: Observation): void {
    const samples = routes.map(({ summary, delivered }) => ({ ...summary, delivered }))
    history.add(clock.now(), samples)
  }

  async function readNow() {
    const fleet = await readPage(fleetDeps)
    noteHistory(fleet.observed)
    return fleet
  }

  const page = keepLatest(readNow, freshMs, clock)

  return {
    observe: () => observe(fleetDeps),
    status: async () => statusOf(await readFleet(fleetDeps)),
    problems: async () => (await readFleet(fleetDeps)).status.problems,
    /** What the status page shows. */
    views: createStatusViews({ version, history, fleet: page.read, store: backend.store }),
    /** Samples the lag until the signal aborts. While the store does not answer, the history has a hole. Never rejects. */
    async start(signal: AbortSignal): Promise<void> {
      async function sample(): Promise<void> {
        await clock.sleep(sampleEveryMs, signal)
        // All that a page shows of a large fleet takes more memory than the rest: it is kept while somebody looks.
        page.dropOld()
        noteHistory(await observe(fleetDeps))
      }
      await repeat(0, sample, { clock, failed: () => undefined }, signal)
    },
  }
}
