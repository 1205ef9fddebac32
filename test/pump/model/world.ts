import type { Day } from '../../../src/domain/day.ts'
import { dayOf, firstReadable } from '../../../src/domain/day.ts'
import { Failure } from '../../../src/domain/failure.ts'
import type { Cursor, Page } from '../../../src/domain/scan/page.ts'
import type { PageRequest } from '../../../src/ports/delivery.ts'
import { identitiesOf, type OwnIds } from '../../../src/shield/entries/identities.ts'
import type { RunOptions } from './any-run.ts'
import { eventOf, identityOf, jsonOf, lineOf, type Entry } from './entry.ts'
import type { Random } from './random.ts'
import type { ShrunkenTo, Trouble, Troubles } from './troubles.ts'

/** A clock that only the model moves. */
export interface ModelClock {
  /** The host's time as no step moves it. */
  hostMs: number
}

/** Answers in a row with the same wrong `Date`, from a server whose clock is wrong. */
interface WrongDates {
  readonly byMs: number
  /** It also refuses days by its own clock. */
  readonly refuses: boolean
  /** They come over one connection; otherwise each over its own. */
  readonly isOneConnection: boolean
  left: number
}

interface Noted {
  readonly listedAtMs: Map<string, number>
  readonly hiddenAtMs: Map<string, number>
}

interface Place {
  readonly listing: readonly Entry[]
  readonly start: number
  /** Which snapshot or which direction the cursor is bound to. */
  readonly kind: string
}

interface Answered {
  readonly events: readonly Entry[]
  readonly more: boolean
  readonly next: Cursor | null
}

/** The longest that a cache on the way keeps an answer; it heeds no request for a fresh one. */
const mostCachedMs = 7_200_000
const turnMs = 5 * 3_600_000

/** A model of the API: entries that appear at their time, listed in some order, paged by some kind of cursor. */
export class World {
  readonly options: RunOptions['world']
  readonly #clock: ModelClock
  readonly #random: Random
  readonly #troubles: Troubles
  readonly #entries = new Map<string, Entry[]>()
  readonly #snapshots = new Map<string, readonly Entry[]>()
  readonly #issuedAt = new Map<string, number>()
  /** How many empty pages follow from a cursor on. */
  readonly #emptyFrom = new Map<Cursor, number>()
  /** The end of the page before the one that a cursor opens. */
  readonly #ends = new Map<Cursor, OwnIds>()
  readonly #cached = new Map<string, Answered & { readonly madeAtMs: number; readonly untilMs: number }>()
  #wrong: WrongDates | undefined
  #connection = {}
  #isHostAhead: boolean
  readonly #noted = new Map<string, Noted>()
  requests = 0

  constructor(options: RunOptions['world'], clock: ModelClock, random: Random, troubles: Troubles) {
    this.options = options
    this.#isHostAhead = options.skewMs < 0
    this.#clock = clock
    this.#random = random
    this.#troubles = troubles
  }

  now(): number {
    return this.#clock.hostMs + this.options.skewMs
  }

  /**
   * A process has begun on a host that is ahead: from then on one server at a time has a wrong clock. A host and several
   * servers that are days ahead at the same time may end a day too early.
   */
  hostIsAhead(): void {
    this.#isHostAhead = true
    if (this.#wrong?.isOneConnection === false) this.#wrong = undefined
  }

  add(zone: number, entry: Entry): void {
    const key = `${zone}/${entry.day}`
    const list = this.#entries.get(key)
    if (list === undefined) this.#entries.set(key, [entry])
    else list.push(entry)
  }

  /** When an answer last listed an event of a day, and when one last hid an entry; by their lines and keys. */
  noted(zone: number, day: Day): Noted {
    const key = `${zone}/${day}`
    const noted = this.#noted.get(key) ?? { listedAtMs: new Map(), hiddenAtMs: new Map() }
    this.#noted.set(key, noted)
    return noted
  }

  /** Entries of a day that have appeared by an instant of the API's clock. */
  visible(zone: number, day: Day, atMs = this.now()): Entry[] {
    return (this.#entries.get(`${zone}/${day}`) ?? []).filter((entry) => entry.arrivesAtMs <= atMs)
  }

  fetchPage({ zone, day, cursor }: PageRequest): Page {
    this.requests++
    const requestedAt = this.#clock.hostMs
    this.#clock.hostMs += this.options.latencyMs
    const trouble = this.#troubles.at(zone.id, this.now())
    this.#fail(trouble)
    this.#meetServer()
    const today = dayOf(this.now() + (this.#wrong?.refuses === true ? this.#wrong.byMs : 0))
    const isOutside = day > today || day < firstReadable(today, this.options.listedDays)
    if (isOutside || trouble === 'window error') throw this.#refusal('refuse', 'window_closed')
    const { events, more, next, ageMs } = this.#throughCache(`${zone.id} ${day} ${cursor}`, trouble, () =>
      this.#page(zone.id, day, cursor, trouble),
    )
    for (const entry of events) this.noted(zone.id, day).listedAtMs.set(lineOf(identityOf(entry)), this.now())
    const date = ageMs > 0 ? undefined : this.#date()
    const before = cursor === null ? undefined : this.#ends.get(cursor)
    const { identities, end } = identitiesOf(events.map(jsonOf), before)
    if (next !== null) this.#ends.set(next, end())
    const listed = events.map((entry, index) => eventOf(entry, zone.id, identities[index]))
    return {
      content: () => ({ events: listed, more, next }),
      bytes: 100,
      requestedAt,
      ...(ageMs > 0 && { ageMs }),
      ...(date !== undefined && { clockOffsetMs: date - this.#clock.hostMs, connection: this.#connection }),
      release: () => undefined,
    }
  }

  /** With the age as the client reads it. */
  #throughCache(url: string, trouble: Trouble | undefined, answer: () => Answered) {
    if (trouble !== 'cached') return { ...answer(), ageMs: 0 }
    const kept = this.#cached.get(url)
    const nowMs = this.now()
    const seconds = kept === undefined ? 0 : Math.floor((nowMs - kept.madeAtMs) / 1000)
    if (kept !== undefined && seconds > 0 && nowMs <= kept.untilMs)
      return { ...kept, ageMs: (seconds + 1) * 1000 }
    const untilMs = nowMs + this.#random.between(60_000, mostCachedMs)
    const made = { ...answer(), madeAtMs: nowMs, untilMs }
    this.#cached.set(url, made)
    return { ...made, ageMs: 0 }
  }

  #fail(trouble: Trouble | undefined): void {
    if (trouble === 'down') throw new Failure('retry', 'network', 'no route')
    if (this.#random.chance(this.options.failureShare))
      throw new Failure('retry', 'server_error', 'status 500')
    if (trouble === 'too large') throw new Failure('refuse', 'page_too_large', 'a page of 100 MB')
    if (trouble === 'zone gone') throw new Failure('refuse', 'zone_gone', 'no such zone')
  }

  #refusal(kind: 'refuse' | 'retry', code: 'window_closed' | 'cursor_expired'): Failure {
    const date = this.#date()
    const details = date === undefined ? {} : { serverDate: date, connection: this.#connection }
    return new Failure(kind, code, 'refused', details)
  }

  /** The server that answers, and the connection to it. */
  #meetServer(): void {
    if (this.#wrong?.isOneConnection !== true) this.#connection = {}
    if (this.#wrong !== undefined && this.#wrong.left-- === 0) {
      this.#wrong = undefined
      this.#connection = {}
    }
    if (this.options.dates !== 'wrong in a row' || this.#wrong !== undefined) return
    if (!this.#random.chance(0.01)) return
    this.#wrong = {
      byMs: this.#random.pick([-1, 1]) * this.#random.between(60_000, 12 * 86_400_000),
      refuses: this.#random.chance(0.5),
      isOneConnection: this.#random.chance(0.5) || this.#isHostAhead,
      left: this.#random.between(1, 4),
    }
    this.#connection = {}
  }

  /** What the answer says the time is. */
  #date(): number | undefined {
    if (this.options.dates === 'none') return undefined
    if (this.#wrong !== undefined) return this.now() + this.#wrong.byMs
    if (this.options.dates !== 'sometimes wrong' || !this.#random.chance(0.005)) return this.now()
    return this.now() + this.#random.pick([-1, 1]) * this.#random.between(60_000, 3 * 86_400_000)
  }

  #page(zone: number, day: Day, cursor: Cursor | null, trouble: Trouble | undefined): Answered {
    const place = this.#open(zone, day, cursor)
    const { listing, start } = place
    const onPages = this.#shrinksTo(true, zone)
    const shown = new Set(onPages === undefined ? listing : this.#shown(listing, onPages, { zone, day }))
    const pageUntil = (to: number) => listing.slice(start, to).filter((entry) => shown.has(entry))
    const end = start + this.options.pageSize
    const issue = (at: number) => this.#issue(zone, day, place, at)
    if (trouble === 'cursor repeated')
      return { events: listing.slice(0, 2), more: true, next: this.#fixed(day, 'x|same') }
    if (trouble === 'cursor cycle') {
      const [, , , again] = cursor?.split('|') ?? []
      const next = this.#fixed(day, `x|cycle${(Number(again?.slice(5) ?? 0) + 1) % 5}`)
      return { events: listing.slice(0, 2), more: true, next }
    }
    if (trouble === 'circle' && listing.length > 0) {
      // A real scan of it goes on until its pages have come again some times.
      const isLast = end >= listing.length
      const next = isLast ? this.#fixed(day, `${place.kind}||${this.requests}`, zone) : issue(end)
      return { events: pageUntil(end), more: true, next }
    }
    if (trouble === 'no cursor') return { events: pageUntil(end), more: true, next: null }
    if (trouble === 'endless') {
      // Slow, or runs would consist of little else: a scan gives up after thousands of empty pages.
      this.#clock.hostMs += 5_000
      return { events: [], more: true, next: issue(start) }
    }
    const empty = this.#emptyAt(cursor)
    if (empty > 0) {
      const next = issue(start)
      this.#emptyFrom.set(next, empty - 1)
      return { events: [], more: true, next }
    }
    const more = end < listing.length
    return {
      events: pageUntil(end),
      more,
      next: more ? issue(end - this.options.pageOverlap) : null,
    }
  }

  #emptyAt(cursor: Cursor | null): number {
    const known = cursor === null ? undefined : this.#emptyFrom.get(cursor)
    if (known !== undefined) return known
    return this.#random.chance(this.options.emptyShare) ? this.options.emptyRun : 0
  }

  #open(zone: number, day: Day, cursor: Cursor | null): Place {
    if (cursor === null) {
      const kind = this.#newKind()
      const listing = this.#listing(zone, day, kind)
      if (this.options.cursors === 'snapshot') this.#snapshots.set(kind, listing)
      return { listing, start: 0, kind }
    }
    const issued = this.#issuedAt.get(cursor)
    const { cursorLifeMs } = this.options
    if (issued === undefined || (cursorLifeMs !== null && this.now() - issued > cursorLifeMs)) {
      throw this.#refusal('retry', 'cursor_expired')
    }
    const [, , kind = '', place = ''] = cursor.split('|')
    const listing = this.#snapshots.get(kind) ?? this.#listing(zone, day, kind)
    if (this.options.cursors !== 'anchor') return { listing, start: Number(place) || 0, kind }
    return { listing, start: listing.findIndex(({ key }) => key === place) + 1, kind }
  }

  #newKind(): string {
    const direction =
      this.options.order === 'turning' && Math.floor(this.now() / turnMs) % 2 === 1 ? 'n' : 'o'
    return `${direction}${this.options.cursors === 'snapshot' ? this.#snapshots.size : ''}`
  }

  /** No cursor stands twice for different places: it names what comes next, and for an empty page also the request. */
  #issue(zone: number, day: Day, { listing, start, kind }: Place, at: number): Cursor {
    const index = Math.max(at, at > start ? start + 1 : start)
    const place = this.options.cursors === 'anchor' ? (listing[index - 1]?.key ?? '') : String(index)
    const nonce = at === start ? this.requests : ''
    const cursor = `${day}|${zone}|${kind}|${place}|${nonce}` as Cursor
    this.#issuedAt.set(cursor, this.now())
    return cursor
  }

  #fixed(day: Day, name: string, zone = 0): Cursor {
    const cursor = `${day}|${zone}|${name}` as Cursor
    this.#issuedAt.set(cursor, this.now())
    return cursor
  }

  #listing(zone: number, day: Day, kind: string): Entry[] {
    const { order } = this.options
    const entries = this.inOrder(this.visible(zone, day))
    const isReverse = order === 'newest-first' || order === 'arrival-newest' || kind.startsWith('n')
    if (isReverse) entries.reverse()
    return this.#shown(entries, this.#shrinksTo(false, zone), { zone, day })
  }

  #shrinksTo(isOnPages: boolean, zone: number): ShrunkenTo | undefined {
    const shrinking = this.#troubles.shrinking(zone, this.now())
    return shrinking?.isOnPages === isOnPages ? shrinking.to : undefined
  }

  /** In the order of the listing, the oldest first. */
  inOrder(entries: Entry[]): Entry[] {
    const { order } = this.options
    const byTime = (left: Entry, right: Entry) =>
      left.sortMs - right.sortMs || (left.key < right.key ? -1 : 1)
    const byArrival = (left: Entry, right: Entry) =>
      left.arrivesAtMs - right.arrivesAtMs || byTime(left, right)
    const byShuffle = (left: Entry, right: Entry) => left.shuffle - right.shuffle
    return entries.sort(order === 'unordered' ? byShuffle : order.startsWith('arrival') ? byArrival : byTime)
  }

  /** Notes what it hides. */
  #shown(
    listing: readonly Entry[],
    to: ShrunkenTo | undefined,
    { zone, day }: { zone: number; day: Day },
  ): Entry[] {
    const half = Math.ceil(listing.length / 2)
    const { hiddenAtMs } = this.noted(zone, day)
    return listing.filter((entry, index) => {
      const isShown =
        to === undefined ||
        (to === 'four fifths'
          ? entry.shuffle < 0.8
          : to !== 'nothing' && index < half === (to === 'the first half'))
      if (!isShown) hiddenAtMs.set(entry.key, this.now())
      return isShown
    })
  }
}
