import type { SinkConfig } from '../config/schema.ts'
import { dayOf, firstReadable, type Day, daysFrom } from '../domain/day.ts'
import type { Refusal } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { FingerprintSet } from '../domain/event/seen.ts'
import { Failure, isFailure, messageOf } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { createFormat, servedBy } from '../formats/registry.ts'
import { pagesOf, Unreadable } from '../maintenance/archive/ship-archived.ts'
import { EventCounter, type CountedBy, type CountedRow } from '../maintenance/read/count-events.ts'
import { type ReadDeps, readDay } from '../maintenance/read/read-day.ts'
import { ZoneFollower } from '../maintenance/read/follow.ts'
import { createRedactor } from '../shield/redaction/redact.ts'
import { piecesOf } from './backfill-archive.ts'
import { openParts, type Parts, type PartsConfig } from './parts.ts'
import { explainingZones, listZones } from '../discovery/list-zones.ts'
import { createStdoutSink } from '../sinks/stdout/sink.ts'
import { wantsOf } from '../sinks/wants.ts'
import type { Work } from './work.ts'

/** The failure for a zone that the API does not know names the zone that may be meant. */
function readDepsOf({ reading, runtime }: Work): ReadDeps {
  return { ...runtime, source: explainingZones(reading.source, listZones(reading.clientOf)) }
}

interface FetchRequest {
  readonly zones: readonly Zone[]
  readonly day: Day
  /** Which events are printed, and in which form: as a sink gets them. */
  readonly form: Pick<SinkConfig, 'format' | 'include' | 'set' | 'where' | 'sample'>
  /** Of all zones together; Infinity for all events. */
  readonly limit: number
}

/** Prints events of a day to stdout, each once, without state. Returns those without a form in the format. Throws Failure. */
export async function fetchToStdout(
  work: Work,
  { zones, day, form, limit }: FetchRequest,
  signal: AbortSignal,
): Promise<readonly Refusal[]> {
  const { config, runtime } = work
  const output = { ...runtime, format: createFormat(form), output: process.stdout }
  const sink = createStdoutSink({ name: 'stdout' }, output)
  try {
    const open = await sink.open({ zone: zones[0]?.id ?? 0, day, sink: sink.name }, {}, signal)
    const deps = readDepsOf(work)
    const wants = wantsOf(form) ?? (() => true)
    const refusals: Refusal[] = []
    let left = limit
    for (const zone of zones) {
      // A listing that grows while it is read may show an event on two pages.
      const shown = new FingerprintSet()
      for await (const page of readDay({ zone, day }, deps, signal)) {
        const fresh = page.events.filter((event) => shown.add(event.fingerprint) && wants(event))
        const events = fresh.slice(0, left)
        refusals.push(...(await open.deliver(events, signal)).refusals)
        left -= events.length
        if (left <= 0) return refusals
      }
    }
    return refusals
  } catch (error) {
    if (!isFailure(error, 'window_closed')) throw error
    const today = dayOf(error.details.serverDate ?? runtime.clock.now())
    const window = `the API answers for ${firstReadable(today, config.poll.readableDays)} to ${today} (UTC)`
    const text = `${day} cannot be read: ${window}. ${error.message}`
    throw new Failure('refuse', 'window_closed', text, { ...error.details, cause: error })
  } finally {
    await sink.close()
  }
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

/** Shows events as the API lists them, until the signal aborts. Touches no state. Throws Failure of the first poll. */
export async function tailEvents(
  work: Work,
  { zones, wants, before, show, warn }: TailRequest,
  signal: AbortSignal,
): Promise<void> {
  const deps = readDepsOf(work)
  const pauseMs = Math.min(longestPauseMs, work.config.poll.everySeconds * 1000)
  const followers = new Set(zones.map((zone) => new ZoneFollower(zone, deps, wants)))
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const found: Event[] = []
    for (const follower of followers) {
      try {
        const { events } = await follower.poll(signal, isFirst ? before : Infinity)
        found.push(...events)
      } catch (error) {
        if (signal.aborted) return
        // The other zones can still be followed.
        const isOneOfSeveral = isFailure(error, 'zone_gone') && followers.size > 1
        if (isOneOfSeveral) followers.delete(follower)
        else if (isFirst || !isFailure(error)) throw error
        warn(messageOf(error))
      }
    }
    const sorted = found.toSorted((one, other) => (one.timeMs ?? 0) - (other.timeMs ?? 0))
    show(isFirst ? sorted.slice(-before) : sorted)
    await deps.clock.sleep(pauseMs, signal).catch(() => undefined)
  }
}

interface TopRequest {
  readonly by: CountedBy
  readonly zones: readonly Zone[]
  /** Counts events that are no older than this. */
  readonly sinceMs: number
  readonly most: number
  /** Reads the parts of this sink; without it, the API. */
  readonly source?: PartsConfig
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
export async function topOf(
  work: Work,
  { by, zones, sinceMs, most, source }: TopRequest,
  signal: AbortSignal,
): Promise<Top> {
  const nowMs = work.runtime.clock.now()
  const fromMs = nowMs - sinceMs
  const counter = new EventCounter(by)
  const unreadable = new Unreadable()
  const unknownZones = new Map<Zone, Failure>()
  const today = dayOf(nowMs)
  const oldest = firstReadable(today, work.config.poll.readableDays)
  const isListed = (day: Day) => source !== undefined || day >= oldest
  const days = daysFrom(dayOf(fromMs), today)
  await using opened = new AsyncDisposableStack()
  const pagesIn =
    source === undefined
      ? listedPages(work, fromMs, signal)
      : archivedPages(work, source, opened.use(openParts(source, work.runtime, signal)), unreadable)
  async function countZone(zone: Zone): Promise<void> {
    for (const day of days.filter(isListed))
      for await (const events of pagesIn({ zone, day })) {
        for (const event of events) if ((event.timeMs ?? -Infinity) >= fromMs) counter.add(event)
        if (signal.aborted) return
      }
  }

  for (const zone of zones)
    await countZone(zone).catch((error: unknown) => {
      if (!isFailure(error, 'zone_gone')) throw error
      unknownZones.set(zone, error)
    })
  const leftOut = days.filter((day) => !isListed(day))
  return { rows: counter.rows(most), events: counter.events, unknownZones, leftOut, unreadable }
}

interface Place {
  readonly zone: Zone
  readonly day: Day
}

type PagesIn = (place: Place) => AsyncIterable<readonly Event[]>

function archivedPages({ config }: Work, source: PartsConfig, parts: Parts, unreadable: Unreadable): PagesIn {
  const target = servedBy(source)[0]!
  const redactor = createRedactor(config.redact)
  return (place) => pagesOf(piecesOf(source, parts, target, place, redactor), unreadable)
}

/** Each event of a day once; of a newest-first listing without the pages before that time. */
function listedPages(work: Work, fromMs: number, signal: AbortSignal): PagesIn {
  const deps = readDepsOf(work)
  return async function* pages(place) {
    const counted = new FingerprintSet()
    for await (const { events } of readDay(place, deps, signal)) {
      yield events.filter(({ fingerprint }) => counted.add(fingerprint))
      if (isPast(events, fromMs)) return
    }
  }
}

/** A page of a newest-first listing that lies before the time: the pages after it do too. */
function isPast(events: readonly Event[], fromMs: number): boolean {
  const [first, last] = [events[0]?.timeMs, events.at(-1)?.timeMs]
  return first !== undefined && last !== undefined && last < first && first < fromMs
}
