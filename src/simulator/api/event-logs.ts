import { dayOf, firstReadable, type Day } from '../../domain/day.ts'
import { failed, problem, type Answer } from '../answer.ts'
import { hashOf } from '../entries/hash.ts'
import type { Traffic } from '../entries/traffic.ts'
import type { Settings } from '../options.ts'
import { formOf, type Route } from '../route.ts'

/** The content of a token, which is opaque to clients. */
interface Place {
  readonly zone: number
  readonly day: Day
  /** Entries to skip; with `anchor`, the number of the entry before the page, or -1 for the beginning. */
  readonly at: number
  /** With `snapshot`, how many entries it holds. */
  readonly held?: number
  /** Where tokens expire. */
  readonly issuedAtMs?: number
}

export class EventLogs {
  readonly #settings: () => Settings
  readonly #traffic: Traffic
  /** Signs tokens, so that those of another simulator are not accepted, nor those that have expired. */
  #seal: number
  #pages = 0

  constructor(settings: () => Settings, traffic: Traffic) {
    this.#settings = settings
    this.#traffic = traffic
    this.#seal = hashOf(`seal ${settings().seed}`)
  }

  answer(route: Route): Answer {
    const { readableDays, clock } = this.#settings()
    const today = dayOf(clock.now())
    const day = route.day!
    if (day > today || day < firstReadable(today, readableDays)) {
      const reach = `the past ${readableDays} days (${readableDays * 24} hours)`
      const message = `Event logs can only be read for ${reach}.`
      return failed(route, 401, 'invalid_datetime_window.event_logs', message)
    }
    const place = this.#placeOf(route, route.zone!, day)
    if (place === undefined) return problem(400, 'The value of continuationToken is not valid.', route)
    return this.#page(route, place)
  }

  /** Refuses all tokens that were issued so far. */
  expireTokens(): void {
    this.#seal = hashOf(`seal ${this.#seal}`)
  }

  #placeOf(route: Route, zone: number, day: Day): Place | undefined {
    const { firstPage, tokens, tokenLifeMs, clock } = this.#settings()
    const form = formOf(route, firstPage)
    if (form === 'wrong') return undefined
    const { count } = this.#traffic.listing(zone, day)
    if (form === 'first')
      return { zone, day, at: tokens === 'anchor' ? -1 : 0, ...(tokens === 'snapshot' && { held: count }) }
    const place = this.#placeIn(route.token ?? '')
    if (place?.zone !== zone || place.day !== day) return undefined
    if (tokenLifeMs !== null && clock.now() - (place.issuedAtMs ?? 0) > tokenLifeMs) return undefined
    // A simulator restarted with the same seed may hold fewer entries than the one that issued the token.
    return tokens === 'anchor' && place.at >= count ? undefined : place
  }

  #issue(place: Place): string {
    const { tokenLifeMs, clock } = this.#settings()
    return this.#tokenFor(
      JSON.stringify({ ...place, ...(tokenLifeMs !== null && { issuedAtMs: clock.now() }) }),
    )
  }

  #tokenFor(text: string): string {
    return hostile + Buffer.from(`${hashOf(this.#seal + text)} ${text}`).toString('base64url')
  }

  /** Undefined for a token that was not issued under this seal. */
  #placeIn(token: string): Place | undefined {
    const content = Buffer.from(token.slice(hostile.length), 'base64url').toString('utf8')
    const text = content.slice(content.indexOf(' ') + 1)
    return token === this.#tokenFor(text) ? (JSON.parse(text) as Place) : undefined
  }

  #page(route: Route, place: Place): Answer {
    const { pageSize, leastPageSize, order, lastToken, tokens } = this.#settings()
    const least = leastPageSize ?? pageSize
    const length = least + (hashOf(String(++this.#pages)) % (pageSize - least + 1))
    const listing = this.#traffic.listing(place.zone, place.day)
    const seqs = listing.inOrder(order, place.held)
    const begin = tokens === 'anchor' ? seqs.indexOf(place.at) + 1 : Math.min(place.at, seqs.length)
    const shown = seqs.slice(begin, begin + length)
    const end = begin + shown.length
    const next = this.#issue({ ...place, at: tokens === 'anchor' ? (shown.at(-1) ?? place.at) : end })
    const more = end < seqs.length
    const lastTokens = { empty: '', null: null, repeated: route.token ?? '', real: next }
    const tail = {
      hasMoreData: more,
      continuationToken: more ? next : lastTokens[lastToken],
      startToken: this.#issue(place),
      errorResponse: null,
    }
    const texts = shown.flatMap((seq, index) => [index === 0 ? '' : ',', listing.json(seq)])
    return {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: bytesOf(['{"logs":[', ...texts, `],${JSON.stringify(tail).slice(1)}`]),
    }
  }
}

/** Begins every token: a client that decodes it twice, or leaves any of it unencoded, sends another one. */
const hostile = 'p/=?%2F+ &#=='

const mostBytesPerUnit = 3

/** Twice as fast as joining the texts first, which would slow down the bench. */
function bytesOf(texts: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, { length }) => sum + length * mostBytesPerUnit, 0))
  let written = 0
  for (const text of texts) written += bytes.write(text, written)
  return bytes.subarray(0, written)
}
