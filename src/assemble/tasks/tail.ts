import type { Config } from '../../config/schema/schema.ts'
import type { Event } from '../../domain/event/event.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { createFormat, type LineForm } from '../../formats/registry.ts'
import { ZoneFollower } from '../../maintenance/read/follow-zone.ts'
import type { ReadDeps } from '../../maintenance/read/read-day.ts'
import { wantsOf, type Routing } from '../../sinks/wants.ts'
import { explainingZones } from '../discovery/explain-zones.ts'
import { createQuietRuntime } from '../quiet-runtime.ts'
import { createReading } from '../reading.ts'

export interface TailRequest {
  readonly zones: readonly Zone[]
  readonly wants: (event: Event) => boolean
  /** Events that existed before: how many of the newest are shown. */
  readonly before: number
  readonly show: (events: readonly Event[]) => void
  /** Reports a poll that failed; the next one tries again. */
  readonly warn: (text: string) => void
}

/** Polls at least this often, whatever `poll.everySeconds` says. */
const longestPauseMs = 5_000

/** Which events a sink gets. */
export function wantedBy(sink: Routing): (event: Event) => boolean {
  return wantsOf(sink) ?? (() => true)
}

/** A line of an event in a format. Throws for an event without a form in it. */
export function lineOf(form: LineForm): (event: Event) => string {
  return createFormat(form).encode
}

/** Shows events as the API lists them, until the signal aborts. Touches no state. Throws Failure of the first poll. */
export async function tailEvents(config: Config, request: TailRequest, signal: AbortSignal): Promise<void> {
  const runtime = createQuietRuntime()
  const { clock, apiClock } = runtime
  const reading = createReading(config, runtime)
  const deps: ReadDeps = { source: explainingZones(reading.source, config, runtime), clock, apiClock }
  const followers = new Set(request.zones.map((zone) => new ZoneFollower(zone, deps, request.wants)))
  let isFirst = true

  async function pollAll(): Promise<void> {
    let found: readonly Event[] = []
    for (const follower of followers) {
      try {
        const { events } = await follower.poll(signal, isFirst ? request.before : Infinity)
        found = [...found, ...events]
      } catch (error) {
        if (signal.aborted) return
        // The other zones can still be followed.
        const isOneOfSeveral = isFailure(error, 'zone_gone') && followers.size > 1
        if (isOneOfSeveral) followers.delete(follower)
        else if (isFirst || !isFailure(error)) throw error
        request.warn(messageOf(error))
      }
    }
    const sorted = found.toSorted((one, other) => (one.timeMs ?? 0) - (other.timeMs ?? 0))
    request.show(isFirst ? sorted.slice(-request.before) : sorted)
    isFirst = false
  }

  try {
    while (!signal.aborted) {
      await pollAll()
      await clock
        .sleep(Math.min(longestPauseMs, config.poll.everySeconds * 1000), signal)
        .catch(() => undefined)
    }
  } finally {
    await reading.close()
  }
}
