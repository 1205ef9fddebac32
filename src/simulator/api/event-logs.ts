import { dayOf, firstReadable, parseDay, type Day } from '../../domain/day.ts'
import { jsonAnswer, problem, type Answer } from '../answer.ts'
import { hashOf } from '../entries/hash.ts'
import type { Order } from '../entries/listing.ts'
import type { Traffic } from '../entries/traffic.ts'
import type { Settings } from '../options.ts'
import { formOf, type Route } from '../route.ts'
import type { WireError } from '../wire.ts'

/** The content of a token, which is opaque to clients. */
interface Place {
  readonly zone: number
  readonly day: Day
  readonly kind: Settings['tokens']
  /** Entries to skip; with `anchor`, the number of the entry before the page, or -1 for the beginning. */
  readonly at: number
  /** How many entries the snapshot holds; 0 with the other kinds. */
  readonly held: number
  /** Distinguishes two tokens of the same place. */
  readonly nonce: number
}

export class EventLogs {
  readonly #settings: () => Settings
  readonly #traffic: Traffic
  /** Signs tokens, so that those of another simulator are not accepted, nor those that have expired. */
  #seal: number
  #nonce = 0

  constructor(settings: () => Settings, traffic: Traffic) {
    this.#settings = settings
    this.#traffic = traffic
    this.#seal = hashOf(`seal ${settings().seed}`)
  }

  answer(route: Route): Answer {
    const { zone, day } = route
    if (zone === undefined || day === undefined) return problem(400, route.malformed ?? '', route)
    const { zones, readableDays, clock } = this.#settings()
    if (!zones.includes(zone)) {
      return failedPage(202, 'not_found_or_unauthorised_access.shieldzone', 'Shield zone was not found.')
    }
    const today = dayOf(clock.now())
    if (day > today || day < firstReadable(today, readableDays)) {
      const reach = `the past ${readableDays} days (${readableDays * 24} hours)`
      const message = `Event logs can only be read for ${reach}.`
      return failedPage(401, 'invalid_datetime_window.event_logs', message)
    }
    const place = this.#placeOf(route, zone, day)
    if (place === undefined) return problem(400, 'The value of continuationToken is not valid.', route)
    return this.#page(route, place)
  }

  /** A new token for the page that the request opens: another text for the same place. */
  tokenAgain(route: Route): string {
    const { zone, day } = route
    const place = zone === undefined || day === undefined ? undefined : this.#placeOf(route, zone, day)
    return place === undefined ? '' : this.#tokenOf({ ...place, nonce: ++this.#nonce })
  }

  /** Refuses all tokens that were issued so far. */
  expireTokens(): void {
    this.#seal = hashOf(`seal ${this.#seal}`)
  }

  #placeOf(route: Route, zone: number, day: Day): Place | undefined {
    const { firstPage, tokens } = this.#settings()
    const form = formOf(route, firstPage)
    if (form === 'wrong') return undefined
    if (form === 'first') {
      const held = tokens === 'snapshot' ? this.#traffic.listing(zone, day).count : 0
      return { zone, day, kind: tokens, at: tokens === 'anchor' ? -1 : 0, held, nonce: 0 }
    }
    const place = this.#placeIn(route.segment ?? '')
    if (place?.zone !== zone || place.day !== day) return undefined
    // A simulator restarted with the same seed may hold fewer entries than the one that issued the token.
    if (place.kind === 'anchor' && place.at >= this.#traffic.listing(zone, day).count) return undefined
    return place
  }

  #tokenOf({ zone, day, kind, at, held, nonce }: Place): string {
    const text = [zone, day, kind, at, held, nonce].join('|')
    return hostile + Buffer.from(`${text}|${hashOf(this.#seal + text)}`).toString('base64url')
  }

  /** Undefined for a token that was not issued under this seal. */
  #placeIn(token: string): Place | undefined {
    if (!token.startsWith(hostile)) return undefined
    const parts = Buffer.from(token.slice(hostile.length), 'base64url').toString('utf8').split('|')
    const [zone, dayText = '', kind, at, held, nonce, sum] = parts
    const day = parseDay(dayText)
    if (day === undefined || sum !== String(hashOf(this.#seal + parts.slice(0, -1).join('|'))))
      return undefined
    return {
      zone: Number(zone),
      day,
      kind: kind as Place['kind'],
      at: Number(at),
      held: Number(held),
      nonce: Number(nonce),
    }
  }

  #page(route: Route, place: Place): Answer {
    const settings = this.#settings()
    const listing = this.#traffic.listing(place.zone, place.day)
    const order = listing.inOrder(settings.order, place.kind === 'snapshot' ? place.held : undefined)
    const begin = beginOf(place, order)
    const end = Math.min(begin + settings.pageSize, order.length)
    const more = end < order.length
    const last = place.kind === 'anchor' && end > begin ? order.seqAt(end - 1) : place.at
    const next = this.#tokenOf({ ...place, at: place.kind === 'anchor' ? last : end, nonce: 0 })
    const tail = {
      hasMoreData: more,
      continuationToken: more ? next : lastTokenOf(settings, route, next),
      startToken: this.#tokenOf({ ...place, nonce: 0 }),
      errorResponse: null,
    }
    const body = new BodyWriter((end - begin) * settings.entryBytes * 1.2)
    body.write('{"logs":[')
    for (let position = begin; position < end; position++) {
      if (position > begin) body.write(',')
      body.write(listing.json(order.seqAt(position)))
    }
    body.write(`],${JSON.stringify(tail).slice(1)}`)
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: body.end() }
  }
}

/** Begins every token: a client that decodes it twice, or leaves any of it unencoded, sends another one. */
const hostile = 'p/=?%2F+ &#=='

/** A logical error: the envelope of an empty page. */
export function failedPage(status: number, errorKey: string, message: string): Answer {
  const errorResponse = { success: false, message, errorKey } satisfies WireError
  return jsonAnswer(status, {
    logs: null,
    hasMoreData: false,
    continuationToken: null,
    startToken: null,
    errorResponse,
  })
}

function beginOf(place: Place, order: Order): number {
  if (place.kind !== 'anchor') return Math.min(place.at, order.length)
  return place.at < 0 ? 0 : order.positionAfter(place.at)
}

function lastTokenOf({ lastToken }: Settings, route: Route, next: string): string | null {
  if (lastToken === 'real') return next
  if (lastToken === 'null') return null
  return lastToken === 'repeated' ? (route.segment ?? '') : ''
}

const mostBytesPerUnit = 3

/** Builds a long text as bytes: twice as fast as joining strings first, which would slow down the bench. */
class BodyWriter {
  #buffer: Buffer
  #length = 0

  constructor(expectedBytes: number) {
    this.#buffer = Buffer.allocUnsafe(Math.max(1024, Math.ceil(expectedBytes)))
  }

  write(text: string): void {
    const needed = this.#length + text.length * mostBytesPerUnit
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    this.#length += this.#buffer.write(text, this.#length)
  }

  /** The bytes written. The writer must not be used afterwards. */
  end(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }
}
