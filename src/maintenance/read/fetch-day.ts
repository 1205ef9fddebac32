import type { Day } from '../../domain/day.ts'
import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { FingerprintSet } from '../../domain/event/seen.ts'
import type { Zone } from '../../domain/stream.ts'
import { readDay, type ReadDeps } from './read-day.ts'

export interface FetchJob {
  readonly zones: readonly Zone[]
  readonly day: Day
  /** Of all zones together; Infinity for all events. */
  readonly limit: number
}

export interface FetchDeps extends ReadDeps {
  deliver(events: readonly Event[], signal: AbortSignal): Promise<Delivery>
  /** Absent where all events are wanted. */
  readonly wants?: (event: Event) => boolean
}

/** Delivers the events of a day, each once, up to the limit. Returns those that the format refuses. Throws Failure. */
export async function fetchDay(
  { zones, day, limit }: FetchJob,
  deps: FetchDeps,
  signal: AbortSignal,
): Promise<Refusal[]> {
  const refusals: Refusal[] = []
  let left = limit
  for (const zone of zones) {
    // A listing that grows while it is read may show an event on two pages.
    const shown = new FingerprintSet()
    for await (const page of readDay({ zone, day }, deps, signal)) {
      const { wants = () => true } = deps
      const events = page.events
        .filter((event) => shown.add(event.fingerprint) && wants(event))
        .slice(0, left)
      const delivery = await deps.deliver(events, signal)
      refusals.push(...delivery.refusals)
      left -= events.length
      if (left <= 0) return refusals
    }
  }
  return refusals
}
