import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import { dayOf, daysFrom, firstReadable, type Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import { FingerprintSet } from '../../domain/event/seen.ts'
import { isFailure, type Failure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { pagesOf, type Unreadable } from '../../maintenance/archive/archive-source.ts'
import {
  countedBy,
  EventCounter,
  type CountedBy,
  type CountedRow,
} from '../../maintenance/read/count-events.ts'
import { readDay, type ReadDeps } from '../../maintenance/read/read-day.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'
import { explainingZones } from '../discovery/explain-zones.ts'
import { createQuietRuntime } from '../quiet-runtime.ts'
import { createReading } from '../reading.ts'
import { piecesOf, servedBy, type ArchiveConfig } from './backfill-archive.ts'

export { countedBy, type CountedBy, type CountedRow }

export interface TopRequest {
  readonly by: CountedBy
  readonly zones: readonly Zone[]
  /** Counts events that are no older than this. */
  readonly sinceMs: number
  readonly most: number
  /** Reads the parts of this file sink; without it, the API. */
  readonly source?: ArchiveConfig
}

export interface Top {
  readonly rows: readonly CountedRow[]
  readonly events: number
  /** Zones that the API does not know, and why. */
  readonly unknownZones: ReadonlyMap<Zone, Failure>
  /** Days that the API no longer lists. */
  readonly leftOut: readonly Day[]
  /** What could not be read of the parts. */
  readonly unreadable: Unreadable
}

/** Counts recent events. Touches no state. Throws Failure. */
export async function topOf(config: Config, request: TopRequest, signal: AbortSignal): Promise<Top> {
  const fromMs = systemClock.now() - request.sinceMs
  const counter = new EventCounter(request.by)
  const unreadable: Unreadable = { lines: 0, damagedParts: 0, where: [] }
  const { source } = request
  const today = dayOf(systemClock.now())
  const days = daysFrom(dayOf(fromMs), today)
  const oldest = firstReadable(today, config.poll.readableDays)
  const listed = days.filter((day) => source !== undefined || day >= oldest)
  const places = request.zones.flatMap((zone) => listed.map((day) => ({ zone, day })))
  const unknownZones = new Map<Zone, Failure>()
  const pages =
    source === undefined
      ? pagesOfApi({ config, places, fromMs, unknownZones }, signal)
      : pagesOfParts({ config, source, places, unreadable }, signal)
  for await (const events of pages)
    for (const event of events) if ((event.timeMs ?? -Infinity) >= fromMs) counter.add(event)
  const leftOut = days.filter((day) => !listed.includes(day))
  return { rows: counter.rows(request.most), events: counter.events, unknownZones, leftOut, unreadable }
}

interface Place {
  readonly zone: Zone
  readonly day: Day
}

interface Parts {
  readonly config: Config
  readonly source: ArchiveConfig
  readonly places: readonly Place[]
  readonly unreadable: Unreadable
}

async function* pagesOfParts(
  { config, source, places, unreadable }: Parts,
  signal: AbortSignal,
): AsyncGenerator<readonly Event[]> {
  const target = servedBy(source)[0]!
  const redactor = createRedactor(config.redact)
  for (const { zone, day } of places) {
    const pieces = piecesOf({ source, target, zone, day }, redactor)
    for await (const events of pagesOf(pieces, unreadable)) {
      if (signal.aborted) return
      yield events
    }
  }
}

interface Listings {
  readonly config: Config
  readonly places: readonly Place[]
  readonly fromMs: number
  /** Takes the zones that the API does not know. */
  readonly unknownZones: Map<Zone, Failure>
}

async function* pagesOfApi(
  { config, places, fromMs, unknownZones }: Listings,
  signal: AbortSignal,
): AsyncGenerator<readonly Event[]> {
  const runtime = createQuietRuntime()
  const { clock, apiClock } = runtime
  const reading = createReading(config, runtime)
  const deps = { source: explainingZones(reading.source, config, runtime), clock, apiClock }
  try {
    for (const place of places) {
      if (unknownZones.has(place.zone)) continue
      try {
        yield* pagesSince(place, fromMs, deps, signal)
      } catch (error) {
        if (!isFailure(error, 'zone_gone')) throw error
        unknownZones.set(place.zone, error)
      }
    }
  } finally {
    await reading.close()
  }
}

/** Each event of a day once; of a newest-first listing without the pages before that time. */
async function* pagesSince(
  place: Place,
  fromMs: number,
  deps: ReadDeps,
  signal: AbortSignal,
): AsyncGenerator<readonly Event[]> {
  const counted = new FingerprintSet()
  for await (const page of readDay(place, deps, signal)) {
    yield page.events.filter(({ fingerprint }) => counted.add(fingerprint))
    if (isPast(page.events, fromMs)) return
  }
}

/** A page of a newest-first listing that lies before the time: the pages after it do too. */
function isPast(events: readonly Event[], fromMs: number): boolean {
  const [first, last] = [events[0]?.timeMs, events.at(-1)?.timeMs]
  return first !== undefined && last !== undefined && last < first && first < fromMs
}
