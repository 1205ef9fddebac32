import { systemClock } from '../../../src/clock.ts'
import { dayOf, daysFrom, shiftDay, startOf } from '../../../src/domain/day.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Json } from '../../../src/domain/text/json.ts'
import type { Sink, Source } from '../../../src/ports/delivery.ts'
import type { Store } from '../../../src/ports/store.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { pumpStream } from '../../../src/pump/pump-stream.ts'
import type { PumpDeps } from '../../../src/pump/session.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { toEvent } from '../../../src/shield/entries/to-event.ts'
import { entryJson } from '../../../src/simulator/entries/entry.ts'
import { createTracer } from '../../../src/telemetry/tracing.ts'

export interface Fleet {
  readonly zones: readonly number[]
  readonly sinks: readonly string[]
}

export const seededDays = 3
const eventsOfDay = 20

const policy = {
  everyMs: 3_600_000,
  readableDays: seededDays,
  firstRunDays: seededDays,
  overlapMs: 600_000,
  fullScanMs: 3_600_000,
  settleAfterMs: [1, 6, 20].map((hours) => hours * 3_600_000),
}

/** Pumps every stream of a fleet once, as a first run does, into a sink that takes all and a store that keeps it. */
export async function seed(store: Store, { zones, sinks }: Fleet): Promise<void> {
  const today = dayOf(systemClock.now())
  const days = daysFrom(shiftDay(today, 1 - seededDays), today)
  const deps: PumpDeps = {
    source: createListing(),
    store,
    clock: systemClock,
    apiClock: createApiClock(systemClock),
    telemetry: { emit: () => undefined },
    tracer: createTracer('bench'),
    policy,
    holder: { id: 'bench', schedule: true },
    random: Math.random,
  }
  for (const id of zones)
    await Promise.all(
      sinks.flatMap((name) =>
        days.map(async (day) => {
          const stream = { zone: id, day, sink: name }
          const job = {
            stream,
            zone: { id, name: `zone ${id}`, account: 'default' },
            sink: nowhere(name),
            priority: 'live',
            ordering: { order: 'oldest-first', cursorProven: true, revocations: 0 },
            mayGoOn: () => false,
          } as const
          const failure = await pumpStream(job, deps, new AbortController().signal)
          if (failure !== undefined) throw failure
        }),
      ),
    )
}

function nowhere(name: string): Sink {
  return {
    name,
    address: 'nowhere',
    open: async () => ({
      deliver: async () => ({ refusals: [], committed: [], bytes: 0 }),
      close: async () => {},
    }),
    check: async () => {},
    close: async () => {},
  }
}

/** A listing of one page for any day. The events of all zones are the same. */
function createListing(): Source {
  const redactor = createRedactor('off')
  const shape = { seed: 1, entryBytes: 525 }
  const made = new Map<string, Event[]>()
  const eventsOf = (day: Parameters<typeof startOf>[0]) => {
    const beganMs = startOf(day)
    const stepMs = (Math.min(Date.now(), beganMs + 86_400_000) - beganMs) / eventsOfDay
    return Array.from({ length: eventsOfDay }, (_, seq) => {
      const text = entryJson(shape, { zone: 101, dayNumber: 1, seq }, beganMs + seq * stepMs)
      return toEvent(JSON.parse(text) as Json, { id: 101, name: 'shop' }, redactor)
    })
  }
  return {
    fetchPage: async ({ day }) => {
      const events = made.get(day) ?? eventsOf(day)
      made.set(day, events)
      return {
        events,
        more: false,
        next: null,
        bytes: 525 * eventsOfDay,
        requestedAt: Date.now(),
        release: () => undefined,
      }
    },
  }
}
