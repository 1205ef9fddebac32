import { createBodyWriter } from '../body-writer.ts'
import { jsonAnswer, problem, type Answer } from '../answer.ts'
import { decodeToken, encodeToken, type Place } from './token.ts'
import { tokenSeal, type Settings } from '../options.ts'
import { dayOf, firstReadable, type Day } from '../../domain/day.ts'
import type { Order } from '../entries/order.ts'
import type { Route } from '../route.ts'
import type { Traffic } from '../entries/traffic.ts'
import type { WireError } from '../wire.ts'

const wrongToken = 'The value of continuationToken is not valid.'

export class EventLogs {
  readonly #settings: () => Settings
  readonly #traffic: Traffic
  readonly #seal: number
  #generation = 0
  #nonce = 0

  constructor(settings: () => Settings, traffic: Traffic) {
    this.#settings = settings
    this.#traffic = traffic
    this.#seal = tokenSeal(settings())
  }

  answer(route: Route): Answer {
    const { zone, day } = route
    if (zone === undefined || day === undefined) return problem(400, route.malformed ?? '', route)
    const { zones, readableDays, windowErrorStatus } = this.#settings()
    if (!zones.includes(zone)) {
      return failedPage(202, 'not_found_or_unauthorised_access.shieldzone', 'Shield zone was not found.')
    }
    const today = dayOf(this.#now())
    if (day > today || day < firstReadable(today, readableDays)) {
      const reach = `the past ${readableDays} days (${readableDays * 24} hours)`
      const message = `Event logs can only be read for ${reach}.`
      return failedPage(windowErrorStatus, 'invalid_datetime_window.event_logs', message)
    }
    const place = this.#placeOf(route, zone, day)
    if (typeof place === 'string') return problem(400, place, route)
    return this.#page(route, place)
  }

  /** A new token for the page that the request opens: another text for the same place. */
  tokenAgain(route: Route): string {
    const { zone, day } = route
    if (zone === undefined || day === undefined) return ''
    const place = this.#placeOf(route, zone, day)
    return typeof place === 'string' ? '' : this.#issue(place, ++this.#nonce)
  }

  /** Refuses all tokens that were issued so far. */
  expireTokens(): void {
    this.#generation++
  }

  #now(): number {
    const { clock, clockSkewMs } = this.#settings()
    return clock.now() + clockSkewMs
  }

  #issue(place: Omit<Place, 'issuedAtMs' | 'generation' | 'nonce'>, nonce = 0): string {
    const { tokenLifetimeMs, tokenStyle } = this.#settings()
    const issuedAtMs = tokenLifetimeMs === null ? undefined : this.#now()
    return encodeToken({ ...place, issuedAtMs, generation: this.#generation, nonce }, tokenStyle, this.#seal)
  }

  #isExpired(place: Place): boolean {
    const { tokenLifetimeMs } = this.#settings()
    if (place.generation !== this.#generation) return true
    if (tokenLifetimeMs === null) return false
    return (place.issuedAtMs ?? Number.NEGATIVE_INFINITY) + tokenLifetimeMs < this.#now()
  }

  /** The place where the page begins, or the error message. */
  #placeOf(route: Route, zone: number, day: Day): Place | string {
    const { firstPage, tokens } = this.#settings()
    const form = formOf(route, firstPage)
    if (form === 'wrong') return wrongToken
    if (form === 'first') {
      const held = tokens === 'snapshot' ? this.#traffic.listing(zone, day).count : 0
      const at = tokens === 'anchor' ? -1 : 0
      const generation = this.#generation
      return { zone, day, kind: tokens, at, held, issuedAtMs: undefined, generation, nonce: 0 }
    }
    const place = decodeToken(route.segment ?? '', this.#seal)
    if (place === undefined || place.zone !== zone || place.day !== day) return wrongToken
    // A simulator restarted with the same seed may hold fewer entries than the one that issued the token.
    if (place.kind === 'anchor' && place.at >= this.#traffic.listing(zone, day).count) return wrongToken
    return this.#isExpired(place) ? 'The continuation token has expired.' : place
  }

  #page(route: Route, place: Place): Answer {
    const settings = this.#settings()
    const listing = this.#traffic.listing(place.zone, place.day)
    const order = listing.inOrder(settings.order, place.kind === 'snapshot' ? place.held : undefined)
    const begin = beginOf(place, order)
    const end = Math.min(begin + settings.pageSize, order.length)
    const more = end < order.length
    const last = place.kind === 'anchor' && end > begin ? order.seqAt(end - 1) : place.at
    const next = this.#issue({ ...place, at: place.kind === 'anchor' ? last : end })
    const tail = {
      hasMoreData: more,
      continuationToken: more ? next : lastTokenOf(settings, route, next),
      startToken: this.#issue(place),
      ...goodError(settings.emptyError),
    }
    const body = createBodyWriter((end - begin) * settings.entry.bytes * 1.2)
    body.write('{"logs":[')
    for (let position = begin; position < end; position++) {
      if (position > begin) body.write(',')
      body.write(listing.json(order.seqAt(position)))
    }
    body.write(`],${JSON.stringify(tail).slice(1)}`)
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: body.end() }
  }
}

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

export function goodError(form: Settings['emptyError']): { errorResponse?: WireError | null } {
  if (form === 'absent') return {}
  if (form === 'null') return { errorResponse: null }
  return { errorResponse: { success: false, message: null, errorKey: null } }
}

/** Whether the request asks for the first page, and in the configured form. */
export function formOf(route: Route, firstPage: string): 'first' | 'token' | 'wrong' {
  const { segment } = route
  const wanted = (form: string): boolean => firstPage === form || firstPage === 'any'
  if (segment === undefined) return wanted('omit') ? 'first' : 'wrong'
  if (segment === '') return wanted('empty') ? 'first' : 'wrong'
  return segment === firstPage && !['omit', 'empty', 'any'].includes(firstPage) ? 'first' : 'token'
}

function beginOf(place: Place, order: Order): number {
  if (place.kind !== 'anchor') return Math.min(place.at, order.length)
  return place.at < 0 ? 0 : order.positionAfter(place.at)
}

function lastTokenOf(settings: Settings, route: Route, next: string): string | null {
  if (settings.lastToken === 'real') return next
  if (settings.lastToken === 'null') return null
  return settings.lastToken === 'repeated' ? (route.segment ?? '') : ''
}
