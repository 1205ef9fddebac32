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
import { readProgress, type StreamProgress } from '../../maintenance/backfill/backfill-progress.ts'
import { backfillStatuses } from '../../status/backfill-status.ts'
import { runInPlace, type InPlace } from './backfill-in-place.ts'
import { openExistingStore } from '../existing-store.ts'
import type { RuntimeOptions } from '../runtime.ts'
import { createQuietRuntime } from '../quiet-runtime.ts'
import { createReading } from '../reading.ts'
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
  /** Determines which days can be read; asks the API where that is not sure. Throws `cancelled`. */
  plan(request: BackfillRequest, signal: AbortSignal): Promise<BackfillPlan>
  /** Creates a backfill of a plan. A process that works on the store takes it with its next plan. */
  add(plan: BackfillPlan): Promise<Backfill>
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
  let hasRun = false
  return {
    async plan(request, signal) {
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
    async add({ from, to, streams, resend }) {
      store ??= await openStore(config, clock)
      const id = randomBytes(5).toString('hex')
      const made = { id, createdAtMs: clock.now(), from, to, state: 'running', streams } as const
      const backfill: Backfill = resend === true ? { ...made, resend } : made
      await store.backfills.add(backfill)
      return backfill
    },
    all: async () => (await store?.backfills.list()) ?? [],
    statuses: async () => (store === undefined ? [] : backfillStatuses(await store.backfills.list(), store)),
    async change(id, state) {
      if (!((await store?.backfills.setState(id, state)) ?? false)) return false
      if (state === 'cancelled') await store?.upkeep.dropEndedResends()
      return true
    },
    look: async (id) => (store === undefined ? undefined : lookAt(store, id)),
    worker: () => shippingProcess(config),
    async runInPlace(id, signal) {
      store ??= await openStore(config, clock)
      hasRun = true
      const { createRuntime } = await import('../runtime.ts')
      return runInPlace({ config, runtime: createRuntime(config, options), store, id }, signal)
    },
    async close() {
      // No run does it; and not sooner, since the temporary streams tell how far a resend has got.
      if (hasRun) await store?.upkeep.dropEndedResends().catch(() => undefined)
      await store?.close()
    },
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
