import { randomBytes } from 'node:crypto'
import { policyOf } from '../../config/policy.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import type { Backfill } from '../../domain/plan/backfill.ts'
import { plan, type PlannedStream } from '../../domain/plan/plan.ts'
import { planBackfill, type BackfillPlan, type BackfillRequest, type AgeLimits } from './plan.ts'
import { unseeDay } from '../../days/unsee.ts'
import { drain, type GivenUp } from '../../schedule/local/drain.ts'
import { backfillStatuses } from '../../status/fleet.ts'
import { refuseHeld, heldSinks, rememberSinks } from '../../assemble/held-sinks.ts'
import { createLock, workersOn, createHolder } from '../../assemble/state.ts'
import type { Work } from '../../assemble/work.ts'

/** Determines which days can be read; asks the API where not sure. Throws `cancelled`, and for a held sink. */
export async function planIn(
  { config, store, hasStore, reading, runtime }: Work,
  request: BackfillRequest,
  signal: AbortSignal,
): Promise<BackfillPlan> {
  if (hasStore) await refuseHeld(config, store, request.sinks)
  const { source } = reading
  const deps = { ...runtime, source, store, policy: policyOf(config), maxAgeHoursOf: maxAgeHoursIn(config) }
  return planBackfill(request, deps, signal)
}

/**
 * Creates a backfill of a plan. A process that works on the store takes it with its next plan. With `resend` its days
 * count as not shipped from then on; if that is interrupted, the backfill stays paused. Throws `cancelled`.
 */
export async function addBackfill(work: Work, plan: BackfillPlan, signal: AbortSignal): Promise<Backfill> {
  const { backfills } = await work.createStore()
  const { from, to, streams, resend = false } = plan
  const id = randomBytes(5).toString('hex')
  const createdAtMs = work.runtime.clock.now()
  const backfill: Backfill = { id, createdAtMs, from, to, state: 'running', streams }
  await backfills.add(resend ? { ...backfill, state: 'paused' } : backfill)
  if (!resend) return backfill
  // It waits for its days before the first of them counts as not shipped: an old day that nothing waits for would
  // end as expired, with a gap.
  const { deps } = await work.shipping({ delivers: false })
  const zones = new Map(plan.zones.map((zone) => [zone.id, zone]))
  await work.beating(async () => {
    for (const { stream, state } of streams)
      if (state === 'queued')
        await unseeDay({ stream, zone: zones.get(stream.zone)!, request: id }, deps, signal)
  })
  await backfills.setState(id, 'running')
  return backfill
}

/** How far a backfill is, with a row for each zone's day while there are no more of these than `mostOfZones`. */
export async function lookAt({ store }: Work, id: string, mostOfZones: number) {
  const own = (await store.backfills.list()).filter((each) => each.id === id)
  return (await backfillStatuses(own, store, mostOfZones))[0]
}

/** The process that ships on the store now. */
export async function shippingProcess({ config, store, runtime }: Work): Promise<string | undefined> {
  return (await workersOn(config, store, runtime.clock))[0]?.name
}

/**
 * Reads the streams of one backfill under the schedule lock, but nothing that is due and no older backfills. Backfills
 * created meanwhile are read too, since their commands were told that a process takes them. Returns what was given up;
 * undefined where another process ships on the store, and takes the backfill. Throws `cancelled` and the Failures of a
 * store; unread streams stay in the store.
 */
export async function runInPlace(
  work: Work,
  id: string,
  signal: AbortSignal,
): Promise<readonly GivenUp[] | undefined> {
  const { config, store, runtime } = work
  const { clock, apiClock } = runtime
  const lock = createLock(config, store, clock)
  if ((await lock.acquire()) !== undefined) return undefined
  try {
    const holder = createHolder(true)
    const held = await heldSinks(config, store)
    await rememberSinks(config, store, held)
    const { pump, settings } = await work.shipping({ holder })
    const { backfills: stored, catalogue, ledger } = store
    const others = new Set((await stored.list()).flatMap((each) => (each.id === id ? [] : [each.id])))

    async function planOwn(): Promise<PlannedStream[]> {
      // Treats older backfills as paused, so that the planner keeps what they have begun.
      const backfills = (await stored.list()).map((each) =>
        others.has(each.id) && each.state === 'running' ? { ...each, state: 'paused' as const } : each,
      )
      const [checkpoints, routes] = await Promise.all([catalogue.checkpoints(), catalogue.routes()])
      return plan({ ...settings(), nowOf: apiClock.now, checkpoints, routes, backfills }).filter(
        ({ priority, stream }) => priority === 'backfill' && !held.has(stream.sink),
      )
    }

    const places = { live: 0, backfill: config.workers.backfillStreams }
    const heartbeat = () => ledger.heartbeat(holder)
    const givenUp = await drain({ clock, plan: planOwn, pump, places, heartbeat }, signal)
    return givenUp.filter(({ planned }) => planned.readRequest?.id === id)
  } finally {
    await lock.release()
  }
}

/** The age in hours from which on a destination takes no event, by the name of its sink. */
export function maxAgeHoursIn({ sinks }: Config): AgeLimits['maxAgeHoursOf'] {
  // Only presets whose destination has such a limit have the setting.
  const limitOf = (sink: SinkConfig) =>
    'batch' in sink && 'maxAgeHours' in sink.batch ? sink.batch.maxAgeHours : undefined
  const hours = new Map(sinks.map((sink) => [sink.name, limitOf(sink)]))
  return (sink) => hours.get(sink)
}
