import { shiftDay } from '../domain/day.ts'
import { requestsOf } from '../domain/plan/backfill.ts'
import { planRoute, type PlannedStream } from '../domain/plan/plan.ts'
import type { Priority, Stream } from '../domain/stream.ts'
import type { Store } from '../ports/store.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import { setClocks, type PlanSettings } from './planner.ts'

/** How many earlier days are read for an ordering that a stream without a checkpoint inherits. */
const daysOfOrdering = 3

/**
 * Plans one stream from the present state of the store, for a job that was queued a while ago. Undefined when the
 * configuration of this process, or every backfill, no longer includes it. Reads a few checkpoints, not all of them.
 */
export async function planOne(
  deps: {
    readonly store: Store
    readonly apiClock: ApiClock
    readonly settings: () => PlanSettings
  },
  stream: Stream,
  priority: Priority,
): Promise<PlannedStream | undefined> {
  const { store, apiClock } = deps
  const { zones, sinks, policy, held: heldSinks } = deps.settings()
  const zone = zones.find(({ id }) => id === stream.zone)
  if (zone === undefined || !sinks.includes(stream.sink)) return undefined
  if (heldSinks?.has(stream.sink) === true) return undefined
  const own = await store.ledger.read(stream)
  const held = own === undefined ? await readBefore(store, stream) : [own]
  setClocks(held, [zone], apiClock)
  const planned = planRoute({
    zone,
    sink: stream.sink,
    nowMs: apiClock.now(zone.account),
    policy,
    // Only the scheduler knows the first planned day; a worker accepts every day that it is sent.
    firstDay: stream.day,
    held,
    requests: requestsOf(priority === 'backfill' ? await store.backfills.list() : []),
  })
  return planned.find((other) => other.priority === priority && other.stream.day === stream.day)
}

async function readBefore(store: Store, stream: Stream) {
  const days = Array.from({ length: daysOfOrdering }, (_, index) => shiftDay(stream.day, -1 - index))
  const found = await Promise.all(days.map((day) => store.ledger.read({ ...stream, day })))
  return found.filter((checkpoint) => checkpoint !== undefined)
}
