import { randomBytes } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import type { Failure } from '../domain/failure.ts'
import type { Backfill } from '../domain/plan/backfill.ts'
import type { PlannedStream } from '../domain/plan/plan.ts'
import { plan } from '../domain/plan/plan.ts'
import type { BackfillStatus } from '../domain/status/status.ts'
import { streamKey } from '../domain/stream.ts'
import {
  planBackfill,
  type BackfillPlan,
  type BackfillRequest,
} from '../maintenance/backfill/backfill-plan.ts'
import { readProgress, type StreamProgress } from '../maintenance/backfill/backfill-progress.ts'
import { unseeDay } from '../maintenance/unsee.ts'
import type { Holder, Store } from '../ports/store.ts'
import { withHeartbeat } from '../pump/take-stream.ts'
import { drain, type GivenUp } from '../schedule/local/drain.ts'
import { backfillStatuses } from '../status/status.ts'
import { refuseHeld, heldSinks, rememberSinks } from './held-sinks.ts'
import { policyOf } from '../config/planned.ts'
import { createHolder, createQuietRuntime, type QuietRuntime } from './quiet-runtime.ts'
import { createReading } from './reading.ts'
import type { RuntimeOptions } from './runtime.ts'
import { createShipping, type Shipping } from './shipping.ts'
import { openExistingStore, openStore, workersOn, createLock } from './state.ts'

/** A backfill and the progress of its streams at one moment. */
export interface BackfillLook {
  readonly backfill: Backfill
  readonly streams: readonly StreamProgress[]
}

/** The operations on backfills, on the store of a configuration. All methods may throw the Failures of a store. */
export interface BackfillTasks {
  /** Determines which days can be read; asks the API where not sure. Throws `cancelled`, and for a held sink. */
  plan(request: BackfillRequest, signal: AbortSignal): Promise<BackfillPlan>
  /**
   * Creates a backfill of a plan. A process that works on the store takes it with its next plan. With `resend` its days
   * count as not shipped from then on; if that is interrupted, the backfill stays paused. Throws `cancelled`.
   */
  add(plan: BackfillPlan, signal: AbortSignal): Promise<Backfill>
  /** All that are stored, the oldest first. */
  all(): Promise<Backfill[]>
  statuses(): Promise<BackfillStatus[]>
  /** False when it is done or cancelled already, or unknown. */
  change(id: string, state: 'running' | 'paused' | 'cancelled'): Promise<boolean>
  look(id: string): Promise<BackfillLook | undefined>
  /** The process that ships on the store now. */
  worker(): Promise<string | undefined>
  /** Reads it in this process, unless another one ships on the store. */
  runInPlace(id: string, signal: AbortSignal): Promise<InPlace>
  close(): Promise<void>
}

export async function openBackfillTasks(config: Config, options: RuntimeOptions): Promise<BackfillTasks> {
  const clock = systemClock
  let store = await openExistingStore(config, clock)
  return {
    async plan(request, signal) {
      if (store !== undefined) await refuseHeld(config, store, request.sinks)
      const runtime = createQuietRuntime(options)
      const reading = createReading(config, runtime)
      const { apiClock } = runtime
      const deps = {
        source: reading.source,
        store,
        clock,
        apiClock,
        policy: policyOf(config),
        maxAgeHoursOf: maxAgeHoursIn(config),
      }
      try {
        return await planBackfill(request, deps, signal)
      } finally {
        await reading.close()
      }
    },
    async add(plan, signal) {
      store ??= await openStore(config, clock)
      const { from, to, streams, resend = false } = plan
      const id = randomBytes(5).toString('hex')
      const backfill: Backfill = { id, createdAtMs: clock.now(), from, to, state: 'running', streams }
      await store.backfills.add(resend ? { ...backfill, state: 'paused' } : backfill)
      if (!resend) return backfill
      // It waits for its days before the first of them counts as not shipped: an old day that nothing waits for would
      // end as expired, with a gap.
      await unseeDays({ config, store, plan }, signal)
      await store.backfills.setState(id, 'running')
      return backfill
    },
    all: async () => (await store?.backfills.list()) ?? [],
    statuses: async () => (store === undefined ? [] : backfillStatuses(await store.backfills.list(), store)),
    change: async (id, state) => (await store?.backfills.setState(id, state)) ?? false,
    look: async (id) => (store === undefined ? undefined : lookAt(store, id)),
    worker: () => shippingProcess(config),
    async runInPlace(id, signal) {
      store ??= await openStore(config, clock)
      const { createRuntime } = await import('./runtime.ts')
      return runInPlace({ config, runtime: createRuntime(config, options), store, id }, signal)
    },
    async close() {
      await store?.close()
    },
  }
}

/**
 * Makes the queued days of a plan count as not shipped, but those of which it is unknown what was shipped: a pump
 * leaves them out.
 */
async function unseeDays(
  { config, store, plan }: { readonly config: Config; readonly store: Store; readonly plan: BackfillPlan },
  signal: AbortSignal,
): Promise<void> {
  const runtime = createQuietRuntime()
  const holder = createHolder(false)
  const shipping = createShipping(config, runtime, { store, holder, delivers: false })
  const zones = new Map(plan.zones.map((zone) => [zone.id, zone]))
  try {
    await withHeartbeat({ store, clock: runtime.clock, holder }, async () => {
      for (const { stream, state } of plan.streams)
        if (state === 'queued')
          await unseeDay({ stream, zone: zones.get(stream.zone)! }, shipping.deps, signal)
    })
  } finally {
    await shipping.close()
  }
}

/** The process that ships on the store of a configuration now. */
export async function shippingProcess(config: Config): Promise<string | undefined> {
  return (await workersOn(config, systemClock))[0]?.name
}

async function lookAt(store: Store, id: string): Promise<BackfillLook | undefined> {
  const backfill = (await store.backfills.list()).find((each) => each.id === id)
  if (backfill === undefined) return undefined
  return { backfill, streams: (await readProgress(store))(backfill) }
}

/** `elsewhere`: another process ships on the store and takes the backfill; `ended`: nothing of it is left to try. */
export type InPlace =
  | { readonly as: 'elsewhere'; readonly holder: string }
  | { readonly as: 'ended'; readonly givenUp: readonly GivenUp[] }

interface InPlaceJob {
  readonly config: Config
  readonly runtime: QuietRuntime
  readonly store: Store
  readonly id: string
}

/**
 * Reads the streams of one backfill under the schedule lock, but nothing that is due and no older backfills. Backfills
 * created meanwhile are read too, since their commands were told that a process takes them. Throws `cancelled` and the
 * Failures of a store; unread streams stay in the store.
 */
export async function runInPlace(
  { config, runtime, store, id }: InPlaceJob,
  signal: AbortSignal,
): Promise<InPlace> {
  const lock = createLock(config, runtime.clock)
  const locked = await lock.acquire()
  if (!locked.ok) return { as: 'elsewhere', holder: locked.holder }
  const holder = createHolder(true)
  const held = await heldSinks(config, store)
  await rememberSinks(config, store, held)
  const shipping = createShipping(config, runtime, { store, holder, held: () => held })
  try {
    const givenUp = await drainBackfills({ config, runtime, store, id, shipping, holder }, signal)
    return { as: 'ended', givenUp: givenUp.filter(({ planned }) => planned.readRequest?.id === id) }
  } finally {
    await shipping.close()
    await lock.release()
  }
}

async function drainBackfills(
  {
    config,
    runtime,
    store,
    id,
    shipping,
    holder,
  }: InPlaceJob & { readonly shipping: Shipping; readonly holder: Holder },
  signal: AbortSignal,
): Promise<GivenUp[]> {
  const { clock, apiClock } = runtime
  const others = new Set((await store.backfills.list()).flatMap((each) => (each.id === id ? [] : [each.id])))
  let requested: ReadonlySet<string> = new Set()

  async function planOwn(): Promise<PlannedStream[]> {
    // Treats older backfills as paused, so that the planner keeps what they have begun.
    const backfills = (await store.backfills.list()).map((each) =>
      others.has(each.id) && each.state === 'running' ? { ...each, state: 'paused' as const } : each,
    )
    const next = await planBackfills(backfills, store, shipping, apiClock.now)
    requested = new Set(next.map(readRequestKey))
    return next
  }

  function pump(planned: PlannedStream, abort: AbortSignal): Promise<Failure | undefined> {
    // The plan no longer contains a paused or cancelled backfill: its stream ends after the current page.
    return shipping.pump(planned, () => requested.has(readRequestKey(planned)), abort)
  }

  return drain(
    {
      clock,
      plan: planOwn,
      pump,
      places: { live: 0, backfill: config.workers.backfillStreams },
      heartbeat: () => store.ledger.heartbeat(holder),
    },
    signal,
  )
}

async function planBackfills(
  backfills: readonly Backfill[],
  store: Store,
  { settings }: Shipping,
  nowOf: (account: string) => number,
): Promise<PlannedStream[]> {
  const [checkpoints, routes] = await Promise.all([store.catalogue.checkpoints(), store.catalogue.routes()])
  const { held, ...configured } = settings()
  return plan({ ...configured, nowOf, checkpoints, routes, backfills }).filter(
    ({ priority, stream }) => priority === 'backfill' && held?.has(stream.sink) !== true,
  )
}

function readRequestKey({ stream, readRequest }: PlannedStream): string {
  return `${streamKey(stream)} ${readRequest?.id}`
}

/** The age in hours from which on a destination takes no event, by the name of its sink. */
export function maxAgeHoursIn({ sinks }: Pick<Config, 'sinks'>): (sink: string) => number | undefined {
  const hours = new Map(sinks.map((sink) => [sink.name, maxAgeHoursOf(sink)]))
  return (sink) => hours.get(sink)
}

function maxAgeHoursOf(sink: SinkConfig): number | undefined {
  const batch: object = 'batch' in sink ? sink.batch : {}
  // Only presets whose destination has such a limit have the setting.
  const hours: unknown = Reflect.get(batch, 'maxAgeHours')
  return typeof hours === 'number' ? hours : undefined
}
