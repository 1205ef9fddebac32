import { isFailure, messageOf } from '../domain/failure.ts'
import type { Event } from '../domain/event/event.ts'
import type { Zone } from '../domain/stream.ts'
import type { Clock } from '../ports/process.ts'

interface LiveTailDeps {
  readonly clock: Clock
  readonly zones: () => readonly Zone[]
  /** Reads what is new in a zone at each call, redacted as for sinks, behind live polls of its account. */
  readonly follow: (zone: Zone) => { poll(signal: AbortSignal, most: number): Promise<readonly Event[]> }
}

/** What was read of a zone since somebody first asked. */
interface Tail {
  askedAtMs: number
  /** Number of the newest; they count from 1. */
  last: number
  /** The oldest first. */
  events: readonly TailEvent[]
  /** How often the API was read; 0 while the first reading is under way. */
  polls: number
  /** Why the last reading failed. */
  problem?: string
}

const pollEveryMs = 5_000
/** A tail that nobody has asked for this long ends. */
const idleMs = 15_000
/** Each reads the API for itself. */
const mostTails = 3
const mostKept = 200
const mostOfPoll = 100
const longestText = 300

export type LiveTail = ReturnType<typeof createLiveTail>

/** Events of a few zones as the API lists them, read only while somebody asks. All who ask share one reading. */
export function createLiveTail({ clock, zones, follow }: LiveTailDeps) {
  const tails = new Map<number, Tail>()
  const stopped = new AbortController()

  function begin(zone: Zone): Tail {
    const tail: Tail = { askedAtMs: clock.monotonic(), last: 0, events: [], polls: 0 }
    if (tails.size >= mostTails)
      tail.problem = `this process reads ${mostTails} zones live already; try again when one of these has stopped`
    else {
      tails.set(zone.id, tail)
      void read(zone, tail, stopped.signal)
    }
    return tail
  }

  async function read(zone: Zone, tail: Tail, signal: AbortSignal): Promise<void> {
    const follower = follow(zone)
    while (!signal.aborted && clock.monotonic() - tail.askedAtMs <= idleMs) {
      try {
        const events = await follower.poll(signal, mostOfPoll)
        const numbered = events.map((event, index) => tailEvent(event, tail.last + index + 1))
        tail.last += events.length
        tail.events = [...tail.events, ...numbered].slice(-mostKept)
        delete tail.problem
      } catch (error) {
        if (!isFailure(error) || !signal.aborted) tail.problem = messageOf(error)
      }
      tail.polls++
      await clock.sleep(pollEveryMs, signal).catch(() => undefined)
    }
    tails.delete(zone.id)
  }

  return {
    /** What came after the event of this number. The first call begins to read. Undefined for an unknown zone. */
    of(zoneId: number, after: number) {
      const zone = zones().find(({ id }) => id === zoneId)
      if (zone === undefined) return undefined
      const tail = tails.get(zoneId) ?? begin(zone)
      const { askedAtMs: _, ...view } = tail
      tail.askedAtMs = clock.monotonic()
      // A number that this reading has not reached is one of an earlier reading.
      const events = after > tail.last ? tail.events : tail.events.filter(({ number }) => number > after)
      return { ...view, events, everySeconds: pollEveryMs / 1000 }
    },
    stop: () => stopped.abort(),
  }
}

export type TailView = NonNullable<ReturnType<LiveTail['of']>>
type TailEvent = ReturnType<typeof tailEvent>

/** Texts are cut; empty where absent. */
function tailEvent({ time, action, rule, request, client }: Event, number: number) {
  const cut = (text: string | number = '') => String(text).slice(0, longestText)
  return {
    number,
    time: cut(time),
    action: cut(action),
    rule: cut(rule?.id),
    method: cut(request?.method),
    url: cut(request?.url),
    address: cut(client?.address),
    country: cut(client?.country),
    asn: cut(client?.asn),
  }
}
