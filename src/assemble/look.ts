import { systemClock } from '../clock.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import { dayOf, firstReadable, type Day, daysFrom } from '../domain/day.ts'
import type { Refusal } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { FingerprintSet } from '../domain/event/seen.ts'
import { Failure, isFailure, messageOf } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { formats, type FormatName, createFormat, type LineForm, servedBy } from '../formats/registry.ts'
import { pagesOf, Unreadable } from '../maintenance/archive/archive-source.ts'
import { EventCounter, type CountedBy, type CountedRow } from '../maintenance/read/count-events.ts'
import { fetchDay, type ReadDeps, readDay } from '../maintenance/read/read-day.ts'
import { ZoneFollower } from '../maintenance/read/follow.ts'
import { createRedactor } from '../shield/redaction/redact.ts'
import { wantsOf, type Routing } from '../sinks/wants.ts'
import { piecesOf, type ArchiveConfig } from './backfill-archive.ts'
import { explainingZones, listZones } from '../discovery/list-zones.ts'
import { openSink } from './shipping.ts'
import type { Work } from './work.ts'

/** Which events a sink gets, and in which form. */
export type FetchForm = Pick<SinkConfig, 'format' | 'include' | 'where' | 'sample'>
export const formatNames = Object.keys(formats) as readonly FormatName[]

export function formOf({ format, include, where, sample }: SinkConfig): FetchForm {
  return { format, include, where, sample }
}

interface FetchRequest {
  readonly zones: readonly Zone[]
  readonly day: Day
  readonly form: FetchForm
  readonly limit: number
}

/** Prints events of a day to stdout, without state. Returns those without a form in the format. Throws Failure. */
export async function fetchToStdout(
  { config, reading, runtime }: Work,
  { zones, day, form, limit }: FetchRequest,
  signal: AbortSignal,
): Promise<readonly Refusal[]> {
  const { clock, apiClock } = runtime
  const sink = openSink({ type: 'stdout', name: 'stdout', ...form }, runtime)
  try {
    const open = await sink.open({ zone: zones[0]?.id ?? 0, day, sink: sink.name }, {}, signal)
    const deps = {
      source: explainingZones(reading.source, listZones(reading.clientOf)),
      clock,
      apiClock,
      deliver: open.deliver.bind(open),
      ...(sink.wants !== undefined && { wants: sink.wants }),
    }
    return await fetchDay({ zones, day, limit }, deps, signal)
  } catch (error) {
    if (!isFailure(error, 'window_closed')) throw error
    throw explainWindow(error, day, error.details.serverDate ?? clock.now(), config.poll.readableDays)
  } finally {
    await sink.close()
  }
}

function explainWindow(error: Failure, day: Day, nowMs: number, readableDays: number): Failure {
  const today = dayOf(nowMs)
  const window = `the API answers for ${firstReadable(today, readableDays)} to ${today} (UTC)`
  return new Failure('refuse', 'window_closed', `${day} cannot be read: ${window}. ${error.message}`, {
    ...error.details,
    cause: error,
  })
}

interface TailRequest {
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
export async function tailEvents(
  { config, reading, runtime }: Work,
  request: TailRequest,
  signal: AbortSignal,
): Promise<void> {
  const { clock, apiClock } = runtime
  const deps: ReadDeps = {
    source: explainingZones(reading.source, listZones(reading.clientOf)),
    clock,
    apiClock,
  }
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

  while (!signal.aborted) {
    await pollAll()
    const pauseMs = Math.min(longestPauseMs, config.poll.everySeconds * 1000)
    await clock.sleep(pauseMs, signal).catch(() => undefined)
  }
}

interface TopRequest {
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
export async function topOf(work: Work, request: TopRequest, signal: AbortSignal): Promise<Top> {
  const { config } = work
  const fromMs = systemClock.now() - request.sinceMs
  const counter = new EventCounter(request.by)
  const unreadable = new Unreadable()
  const { source } = request
  const today = dayOf(systemClock.now())
  const days = daysFrom(dayOf(fromMs), today)
  const oldest = firstReadable(today, config.poll.readableDays)
  const listed = days.filter((day) => source !== undefined || day >= oldest)
  const places = request.zones.flatMap((zone) => listed.map((day) => ({ zone, day })))
  const unknownZones = new Map<Zone, Failure>()
  const pages =
    source === undefined
      ? pagesOfApi({ work, places, fromMs, unknownZones }, signal)
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
  readonly work: Work
  readonly places: readonly Place[]
  readonly fromMs: number
  /** Takes the zones that the API does not know. */
  readonly unknownZones: Map<Zone, Failure>
}

async function* pagesOfApi(
  { work, places, fromMs, unknownZones }: Listings,
  signal: AbortSignal,
): AsyncGenerator<readonly Event[]> {
  const { reading, runtime } = work
  const { clock, apiClock } = runtime
  const deps = { source: explainingZones(reading.source, listZones(reading.clientOf)), clock, apiClock }
  for (const place of places) {
    if (unknownZones.has(place.zone)) continue
    try {
      yield* pagesSince(place, fromMs, deps, signal)
    } catch (error) {
      if (!isFailure(error, 'zone_gone')) throw error
      unknownZones.set(place.zone, error)
    }
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
