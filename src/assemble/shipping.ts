import { setImmediate } from 'node:timers/promises'
import type { Config, SinkConfig } from '../config/schema.ts'
import type { Failure } from '../domain/failure.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import type { Zone } from '../domain/stream.ts'
import { createFormat, encodeOnce, keyOfLines } from '../formats/registry.ts'
import { whileRequested } from '../plan/backfill-progress.ts'
import { Planner, type PlanSettings } from '../plan/planner.ts'
import type { Holder, Store } from '../ports/store.ts'
import type { AnySink } from '../ports/delivery.ts'
import { pumpStream } from '../pump/pump-stream.ts'
import { LatestPages } from '../pump/latest-pages.ts'
import { createSeenMemory } from '../pump/seen-window.ts'
import type { PumpDeps } from '../pump/session.ts'
import { failStream } from '../pump/end-stream.ts'
import { createSink } from '../sinks/registry.ts'
import { wantsOf } from '../sinks/wants.ts'
import { closeTogether, type ApiReading } from './api-reading.ts'
import type { HeldSinks } from './held-sinks.ts'
import { policyOf } from '../config/policy.ts'
import type { Runtime } from './runtime.ts'
import { version } from './version.ts'

/** The parts that depend on the configuration: what is read, and where it goes. A reload creates them again. */
export type Shipping = ReturnType<typeof createShipping>

/** What a pump needs to know of a planned stream. */
type Planned = Pick<PlannedStream, 'stream' | 'zone' | 'priority' | 'readRequest' | 'ordering'>

/** What shipping works over; whoever brings it closes it. */
export interface ShippingOver {
  readonly store: Store
  readonly holder: Holder
  readonly reading: ApiReading
  /** Default: the zones of the configuration. */
  readonly zones?: () => readonly Zone[]
  /** Sinks to which nothing may be shipped now. */
  readonly held?: () => HeldSinks
  /** False opens no sink: a command that delivers nothing needs no secret of one. */
  readonly delivers?: boolean
}

export function createShipping(
  config: Config,
  runtime: Runtime,
  {
    store,
    holder,
    reading,
    zones = () => config.zones,
    held = () => new Map(),
    delivers = true,
  }: ShippingOver,
) {
  const policy = policyOf(config)
  const names = config.sinks.map(({ name }) => name)
  const settings = (): PlanSettings => ({ zones: zones(), sinks: names, policy, held: held() })
  const opened = delivers ? config.sinks : []
  const sinks = new Map<string, AnySink>()
  for (const alike of Map.groupBy(opened, keyOfLines).values()) {
    const format = encodeOnce(createFormat(alike[0]!), alike.length)
    for (const sink of alike) sinks.set(sink.name, openSink(sink, runtime, format))
  }
  const { clock } = runtime
  const deps: PumpDeps = {
    ...runtime,
    source: reading.source,
    store,
    policy,
    holder,
    random: Math.random,
    seenMemory: createSeenMemory(),
    latestPages: new LatestPages(),
  }
  return {
    /** Its zones may change while it runs. */
    settings,
    reading,
    planner: new Planner({ ...runtime, store, turn: setImmediate, settings }),
    sinks,
    deps,
    /**
     * One pump over a planned stream: of a live one while it is due, of a backfill as long as that is wanted. Asks
     * `mayGoOn` after each page instead, where it is given.
     */
    async pump(planned: Planned, signal: AbortSignal, given?: () => boolean): Promise<Failure | undefined> {
      const { stream, zone, priority } = planned
      using _ = priority === 'live' ? reading.gateOf(zone.account).liveBegins() : undefined
      const mayGoOn = given ?? whileRequested(planned, { store, clock })
      const job = { ...planned, sink: sinks.get(stream.sink)!, mayGoOn }
      return await pumpStream(job, deps, signal)
    },
    /** Records a failure when no pump could do so. Throws Failure. */
    async fail(planned: Planned, failure: Failure): Promise<void> {
      await failStream({ ...planned, mayGoOn: () => false }, deps, failure)
    },
    [Symbol.asyncDispose]: () => closeTogether(sinks.values()),
  }
}

export function openSink(config: SinkConfig, runtime: Runtime, format = createFormat(config)): AnySink {
  const sink = createSink(config, { ...runtime, format, version, output: process.stdout })
  const wants = wantsOf(config)
  return wants === undefined ? sink : { ...sink, wants }
}
