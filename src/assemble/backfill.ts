import { randomBytes } from 'node:crypto'
import { systemClock } from '../clock.ts'
import { policyOf } from '../config/planned.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import type { Backfill } from '../domain/plan/backfill.ts'
import { plan, type PlannedStream } from '../domain/plan/plan.ts'
import type { BackfillStatus } from '../domain/status/status.ts'
import {
  planBackfill,
  type BackfillPlan,
  type BackfillRequest,
} from '../maintenance/backfill/backfill-plan.ts'
import { readProgress, type StreamProgress } from '../maintenance/backfill/backfill-progress.ts'
import { unseeDay } from '../maintenance/unsee.ts'
import { drain, type GivenUp } from '../schedule/local/drain.ts'
import { backfillStatuses } from '../status/status.ts'
import { refuseHeld, heldSinks, rememberSinks } from './held-sinks.ts'
import { createHolder } from './quiet-runtime.ts'
import type { RuntimeOptions } from './runtime.ts'
import { createLock, workersOn } from './state.ts'
import type { Work } from './work.ts'

/** A backfill and the progress of its streams at one moment. */
export interface BackfillLook {
  readonly backfill: Backfill
  readonly streams: readonly StreamProgress[]
}

/** The operations on backfills, on the store of a configuration. All methods may throw the Failures of a store. */
export class BackfillTasks {
  readonly #work: Work
  readonly #options: RuntimeOptions

  /** `options`: of the process that reads a backfill in place. */
  constructor(work: Work, options: RuntimeOptions) {
    this.#work = work
    this.#options = options
  }

  /** Determines which days can be read; asks the API where not sure. Throws `cancelled`, and for a held sink. */
  async plan(request: BackfillRequest, signal: AbortSignal): Promise<BackfillPlan> {
    const { config, store, hasStore, reading, runtime } = this.#work
    if (hasStore) await refuseHeld(config, store, request.sinks)
    const { source } = reading
    const deps = { ...runtime, source, store, policy: policyOf(config), maxAgeHoursOf: maxAgeHoursIn(config) }
    return planBackfill(request, deps, signal)
  }

  /**
   * Creates a backfill of a plan. A process that works on the store takes it with its next plan. With `resend` its days
   * count as not shipped from then on; if that is interrupted, the backfill stays paused. Throws `cancelled`.
   */
  async add(plan: BackfillPlan, signal: AbortSignal): Promise<Backfill> {
    const { backfills } = await this.#work.createStore()
    const { from, to, streams, resend = false } = plan
    const id = randomBytes(5).toString('hex')
    const createdAtMs = this.#work.runtime.clock.now()
    const backfill: Backfill = { id, createdAtMs, from, to, state: 'running', streams }
    await backfills.add(resend ? { ...backfill, state: 'paused' } : backfill)
    if (!resend) return backfill
    // It waits for its days before the first of them counts as not shipped: an old day that nothing waits for would
    // end as expired, with a gap.
    await unseeDays(plan, this.#work, signal)
    await backfills.setState(id, 'running')
    return backfill
  }

  /** All that are stored, the oldest first. */
  all(): Promise<Backfill[]> {
    return this.#work.store.backfills.list()
  }

  async statuses(): Promise<BackfillStatus[]> {
    return backfillStatuses(await this.all(), this.#work.store)
  }

  /** False when it is done or cancelled already, or unknown. */
  change(id: string, state: 'running' | 'paused' | 'cancelled'): Promise<boolean> {
    return this.#work.store.backfills.setState(id, state)
  }

  async look(id: string): Promise<BackfillLook | undefined> {
    const backfill = (await this.all()).find((each) => each.id === id)
    return backfill && { backfill, streams: (await readProgress(this.#work.store))(backfill) }
  }

  /** The process that ships on the store now. */
  worker(): Promise<string | undefined> {
    return shippingProcess(this.#work.config)
  }

  /** Reads it in this process, unless another one ships on the store. */
  async runInPlace(id: string, signal: AbortSignal): Promise<InPlace> {
    await this.#work.createStore()
    const { createRuntime } = await import('./runtime.ts')
    return runInPlace(id, this.#work.with(createRuntime(this.#work.config, this.#options)), signal)
  }
}

/**
 * Makes the queued days of a plan count as not shipped, but those of which it is unknown what was shipped: a pump
 * leaves them out.
 */
async function unseeDays(plan: BackfillPlan, work: Work, signal: AbortSignal): Promise<void> {
  const { deps } = await work.shipping({ delivers: false })
  const zones = new Map(plan.zones.map((zone) => [zone.id, zone]))
  await work.beating(async () => {
    for (const { stream, state } of plan.streams)
      if (state === 'queued') await unseeDay({ stream, zone: zones.get(stream.zone)! }, deps, signal)
  })
}

/** The process that ships on the store of a configuration now. */
export async function shippingProcess(config: Config): Promise<string | undefined> {
  return (await workersOn(config, systemClock))[0]?.name
}

/** `elsewhere`: another process ships on the store and takes the backfill; `ended`: nothing of it is left to try. */
export type InPlace =
  | { readonly as: 'elsewhere'; readonly holder: string }
  | { readonly as: 'ended'; readonly givenUp: readonly GivenUp[] }

/**
 * Reads the streams of one backfill under the schedule lock, but nothing that is due and no older backfills. Backfills
 * created meanwhile are read too, since their commands were told that a process takes them. Throws `cancelled` and the
 * Failures of a store; unread streams stay in the store.
 */
export async function runInPlace(id: string, work: Work, signal: AbortSignal): Promise<InPlace> {
  const { config, store, runtime } = work
  const { clock, apiClock } = runtime
  const lock = createLock(config, clock)
  const locked = await lock.acquire()
  if (!locked.ok) return { as: 'elsewhere', holder: locked.holder }
  try {
    const holder = createHolder(true)
    const held = await heldSinks(config, store)
    await rememberSinks(config, store, held)
    const { pump, settings } = await work.shipping({ holder })
    const others = new Set(
      (await store.backfills.list()).flatMap((each) => (each.id === id ? [] : [each.id])),
    )

    async function planOwn(): Promise<PlannedStream[]> {
      // Treats older backfills as paused, so that the planner keeps what they have begun.
      const backfills = (await store.backfills.list()).map((each) =>
        others.has(each.id) && each.state === 'running' ? { ...each, state: 'paused' as const } : each,
      )
      const [checkpoints, routes] = await Promise.all([
        store.catalogue.checkpoints(),
        store.catalogue.routes(),
      ])
      return plan({ ...settings(), nowOf: apiClock.now, checkpoints, routes, backfills }).filter(
        ({ priority, stream }) => priority === 'backfill' && !held.has(stream.sink),
      )
    }

    const places = { live: 0, backfill: config.workers.backfillStreams }
    const heartbeat = () => store.ledger.heartbeat(holder)
    const givenUp = await drain({ clock, plan: planOwn, pump, places, heartbeat }, signal)
    return { as: 'ended', givenUp: givenUp.filter(({ planned }) => planned.readRequest?.id === id) }
  } finally {
    await lock.release()
  }
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
