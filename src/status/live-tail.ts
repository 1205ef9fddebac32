import { isFailure, messageOf } from '../domain/failure.ts'
import type { Event } from '../domain/event/event.ts'
import type { TailEvent, TailView } from '../domain/status/status-views.ts'
import type { Zone } from '../domain/stream.ts'
import type { Found } from '../maintenance/read/follow.ts'
import type { Clock } from '../ports/process.ts'

export interface LiveTailDeps {
  readonly clock: Clock
  readonly zones: () => readonly Zone[]
  /** Reads what is new in a zone at each call, redacted as for sinks, behind live polls of its account. */
  readonly follow: (zone: Zone) => { poll(signal: AbortSignal, most: number): Promise<Found> }
}

interface Tail {
  readonly end: AbortController
  askedAtMs: number
  hasRead: boolean
  readonly view: {
    last: number
    events: readonly TailEvent[]
    leftOut: number
    polls: number
    problem?: string
  }
}

const pollEveryMs = 5_000
/** A tail that nobody has asked for this long ends. */
const idleMs = 15_000
/** Each reads the API for itself. */
const mostTails = 3
const mostKept = 200
const mostOfPoll = 100
const longestText = 300

/** Events of a few zones as the API lists them, read only while somebody asks. All who ask share one reading. */
export class LiveTail {
  readonly #deps: LiveTailDeps
  readonly #tails = new Map<number, Tail>()

  constructor(deps: LiveTailDeps) {
    this.#deps = deps
  }

  /** What came after the event of this number. The first call begins to read. Undefined for an unknown zone. */
  of(zoneId: number, after: number): TailView | undefined {
    const zone = this.#deps.zones().find(({ id }) => id === zoneId)
    if (zone === undefined) return undefined
    const tail = this.#tails.get(zoneId) ?? this.#begin(zone)
    const everySeconds = pollEveryMs / 1000
    if (tail === undefined) {
      const problem = `this process reads ${mostTails} zones live already; try again when one of these has stopped`
      return { last: after, events: [], leftOut: 0, polls: 0, everySeconds, problem }
    }
    tail.askedAtMs = this.#deps.clock.monotonic()
    const { last, events } = tail.view
    // A number that this reading has not reached is one of an earlier reading.
    const newer = after > last ? events : events.filter(({ number }) => number > after)
    return { ...tail.view, events: newer, everySeconds }
  }

  stop(): void {
    for (const { end } of this.#tails.values()) end.abort()
  }

  #begin(zone: Zone): Tail | undefined {
    if (this.#tails.size >= mostTails) return undefined
    const tail: Tail = {
      end: new AbortController(),
      askedAtMs: this.#deps.clock.monotonic(),
      hasRead: false,
      view: { last: 0, events: [], leftOut: 0, polls: 0 },
    }
    this.#tails.set(zone.id, tail)
    void this.#read(zone, tail)
    void this.#endWhenIdle(zone, tail)
    return tail
  }

  async #read(zone: Zone, tail: Tail): Promise<void> {
    const { clock, follow } = this.#deps
    const { signal } = tail.end
    const follower = follow(zone)
    while (!signal.aborted) {
      try {
        add(tail, await follower.poll(signal, mostOfPoll))
        delete tail.view.problem
      } catch (error) {
        if (!isFailure(error) || !signal.aborted) tail.view.problem = messageOf(error)
      }
      tail.view.polls++
      await clock.sleep(pollEveryMs, signal).catch(() => undefined)
    }
  }

  /** Also during a long poll: the first one of a listing that is oldest-first reads all of its pages. */
  async #endWhenIdle(zone: Zone, tail: Tail): Promise<void> {
    const { clock } = this.#deps
    const { signal } = tail.end
    while (!signal.aborted) {
      await clock.sleep(pollEveryMs, signal).catch(() => undefined)
      if (clock.monotonic() - tail.askedAtMs > idleMs) tail.end.abort()
    }
    this.#tails.delete(zone.id)
  }
}

/** Of the events from before the first reading, those that are left out do not count. */
function add(tail: Tail, { events, leftOut }: Found): void {
  const { view } = tail
  if (tail.hasRead) view.leftOut += leftOut
  tail.hasRead = true
  const numbered = events.map((event, index) => tailEvent(event, view.last + index + 1))
  view.last += events.length
  view.events = [...view.events, ...numbered].slice(-mostKept)
}

function tailEvent({ time, action, rule, request, client }: Event, number: number): TailEvent {
  const cut = (text: string | number | undefined) =>
    text === undefined ? '' : String(text).slice(0, longestText)
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
