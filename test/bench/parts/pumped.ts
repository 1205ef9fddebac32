import { systemClock } from '../../../src/clock.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Policy } from '../../../src/domain/policy.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Sink, Source } from '../../../src/ports/delivery.ts'
import type { Store } from '../../../src/ports/store.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { pumpStream } from '../../../src/pump/pump-stream.ts'
import type { PumpDeps } from '../../../src/pump/session.ts'
import { createTracer } from '../../../src/telemetry/tracing.ts'
import { entryBytes } from '../cost/costs.ts'

export const hourMs = 3_600_000

/** What a pump goes by, with polls an hour apart. */
export const hourly: Policy = {
  everyMs: hourMs,
  readableDays: 3,
  firstRunDays: 3,
  overlapMs: 600_000,
  fullScanMs: hourMs,
  settleAfterMs: [1, 6, 20].map((hours) => hours * hourMs),
}

/** Pumps streams once, over listings of one page for each day, into a sink that takes all and keeps nothing. */
export function createPump(
  store: Store,
  policy: Policy,
  eventsOf: (day: Day) => readonly Event[],
): (stream: Stream) => Promise<void> {
  const deps: PumpDeps = {
    source: listing(eventsOf),
    store,
    clock: systemClock,
    apiClock: createApiClock(systemClock),
    telemetry: { emit: () => undefined },
    tracer: createTracer('bench'),
    policy,
    holder: { id: 'bench', schedule: true },
    random: Math.random,
  }
  return async (stream) => {
    const job = {
      stream,
      zone: { id: stream.zone, name: `zone ${stream.zone}`, account: 'default' },
      sink: nowhere(stream.sink),
      priority: 'live',
      ordering: { order: 'oldest-first', cursorProven: true, revocations: 0 },
      mayGoOn: () => false,
    } as const
    const failure = await pumpStream(job, deps, new AbortController().signal)
    if (failure !== undefined) throw failure
  }
}

function listing(eventsOf: (day: Day) => readonly Event[]): Source {
  // Made once: it takes longer than all that is measured.
  const made = new Map<Day, readonly Event[]>()
  return {
    fetchPage: async ({ day }) => {
      const events = made.get(day) ?? eventsOf(day)
      made.set(day, events)
      const bytes = entryBytes * events.length
      return { events, more: false, next: null, bytes, requestedAt: Date.now(), release: () => undefined }
    },
  }
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
