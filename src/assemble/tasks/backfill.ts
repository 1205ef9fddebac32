import { randomBytes } from 'node:crypto'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { Backfill, BackfillState } from '../../domain/plan/backfill.ts'
import type { BackfillStatus } from '../../domain/status/status.ts'
import type { Store } from '../../ports/store.ts'
import {
  planBackfill,
  type BackfillPlan,
  type BackfillRequest,
} from '../../maintenance/backfill/backfill-plan.ts'
import { unseeDay } from '../../maintenance/backfill/unsee-day.ts'
import { withHeartbeat } from '../../pump/heartbeat.ts'
import { readProgress, type StreamProgress } from '../../maintenance/backfill/backfill-progress.ts'
import { backfillStatuses } from '../../status/backfill-status.ts'
import { runInPlace, type InPlace } from './backfill-in-place.ts'
import { openExistingStore } from '../existing-store.ts'
import type { RuntimeOptions } from '../runtime.ts'
import { createHolder, createQuietRuntime } from '../quiet-runtime.ts'
import { createReading } from '../reading.ts'
import { refuseHeld } from '../held-sinks.ts'
import { createShipping } from '../shipping.ts'
import { maxAgeHoursIn } from '../max-age.ts'
import { policyOf } from '../policy.ts'
import { openStore, workersOn } from '../state.ts'

export {
  byDay,
  summed,
  type DayProgress,
  type StreamProgress,
} from '../../maintenance/backfill/backfill-progress.ts'
export type { BackfillPlan, BackfillState, BackfillRequest, InPlace }

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
      const { createRuntime } = await import('../runtime.ts')
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
