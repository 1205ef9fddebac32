import { dayOf, firstReadable, type Day } from '../../domain/day.ts'
import { failed, problem, tooMany, type Answer } from '../answer.ts'
import { changedEntry } from '../entries/changes.ts'
import { hashOf } from '../entries/hash.ts'
import type { Traffic } from '../entries/traffic.ts'
import type { Settings } from '../options.ts'
import type { Route } from '../route.ts'

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

/** Settings that make no entries may change. */
export function createEventLogs(settings: Settings, traffic: Traffic) {
  /** Signs tokens, so that those of another simulator are not accepted, nor those that have expired. */
  let seal = hashOf(`seal ${settings.seed}`)
  let pages = 0
  /** The current minute, and the requests in it. */
  let [minute, asked] = [0, 0]

  function answer(route: Route): Answer {
    const { readableDays, requestsPerMinute, clock } = settings
    const nowMs = clock.now()
    const thisMinute = Math.floor(nowMs / 60_000)
    if (thisMinute !== minute) [minute, asked] = [thisMinute, 0]
    if (++asked > (requestsPerMinute ?? Infinity))
      return tooMany(route, String(Math.ceil(60 - ((nowMs / 1000) % 60))))
    const day = route.day!
    const today = dayOf(nowMs)
    if (day > today || day < firstReadable(today, readableDays)) return unreadable(route)
    const place = placeOf(route, route.zone!, day)
    if (place === undefined) return problem(400, 'The value of continuationToken is not valid.', route)
    return page(route, place)
  }

  function unreadable(route: Route): Answer {
    const { readableDays, oldDays } = settings
    if (oldDays === 'empty') return pageOf([], { hasMoreData: false, continuationToken: '', startToken: '' })
    if (oldDays !== 'refused')
      return problem(oldDays === 'not-found' ? 404 : 400, 'There are no logs of this day.', route)
    const reach = `the past ${readableDays} days (${readableDays * 24} hours)`
    const message = `Event logs can only be read for ${reach}.`
    return failed(route, 401, 'invalid_datetime_window.event_logs', message)
  }

  function placeOf(route: Route, zone: number, day: Day): Place | undefined {
    const { firstPage, tokens, tokenSeconds, clock } = settings
    const form = formOf(route, firstPage)
    if (form === 'wrong') return undefined
    const { count } = traffic.listing(zone, day)
    if (form === 'first')
      return { zone, day, at: tokens === 'anchor' ? -1 : 0, ...(tokens === 'snapshot' && { held: count }) }
    const place = placeIn(route.token ?? '')
    if (place?.zone !== zone || place.day !== day) return undefined
    if (clock.now() - (place.issuedAtMs ?? 0) > (tokenSeconds ?? Infinity) * 1000) return undefined
    // A simulator restarted with the same seed may hold fewer entries than the one that issued the token.
    return tokens === 'anchor' && place.at >= count ? undefined : place
  }

  function issue(place: Place): string {
    const { tokenSeconds, clock } = settings
    const issued = tokenSeconds === null ? place : { ...place, issuedAtMs: clock.now() }
    return tokenFor(JSON.stringify(issued))
  }

  function tokenFor(text: string): string {
    return hostile + Buffer.from(`${hashOf(seal + text)} ${text}`).toString('base64url')
  }

  /** Undefined for a token that was not issued under this seal. */
  function placeIn(token: string): Place | undefined {
    const content = Buffer.from(token.slice(hostile.length), 'base64url').toString('utf8')
    const text = content.slice(content.indexOf(' ') + 1)
    return token === tokenFor(text) ? (JSON.parse(text) as Place) : undefined
  }

  function page(route: Route, place: Place): Answer {
    const { pageSize, leastPageSize, order, lastToken, tokens, changeEntries } = settings
    const least = Math.min(leastPageSize ?? pageSize, pageSize)
    const length = least + (hashOf(String(++pages)) % (pageSize - least + 1))
    const listing = traffic.listing(place.zone, place.day)
    const seqs = listing.inOrder(order, place.held)
    const begin = tokens === 'anchor' ? seqs.indexOf(place.at) + 1 : Math.min(place.at, seqs.length)
    const shown = seqs.slice(begin, begin + length)
    const end = begin + shown.length
    const next = issue({ ...place, at: tokens === 'anchor' ? (shown.at(-1) ?? place.at) : end })
    const more = end < seqs.length
    const lastTokens = { empty: '', null: null, repeated: route.token ?? '', real: next }
    return pageOf(
      shown.map((seq) => changedEntry(listing.json(seq), changeEntries)),
      {
        hasMoreData: more,
        continuationToken: more ? next : lastTokens[lastToken],
        startToken: issue(place),
      },
    )
  }

  /** Refuses all tokens that were issued so far. */
  const expireTokens = () => void (seal = hashOf(`seal ${seal}`))

  return { answer, expireTokens }
}

/** Whether the request asks for the first page, and in the configured form. */
function formOf({ token }: Route, firstPage: string): 'first' | 'token' | 'wrong' {
  const wanted = (form: string): boolean => firstPage === form || firstPage === 'any'
  if (token === undefined) return wanted('omit') ? 'first' : 'wrong'
  if (token === '') return wanted('empty') ? 'first' : 'wrong'
  return token === firstPage && !['omit', 'empty', 'any'].includes(firstPage) ? 'first' : 'token'
}

/** Begins every token: a client that decodes it twice, or leaves any of it unencoded, sends another one. */
const hostile = 'p/=?%2F+ &#=='

function pageOf(entries: readonly string[], rest: object): Answer {
  const tail = JSON.stringify({ ...rest, errorResponse: null })
  const texts = entries.flatMap((text, index) => (index === 0 ? [text] : [',', text]))
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: bytesOf(['{"logs":[', ...texts, `],${tail.slice(1)}`]),
  }
}

const mostBytesPerUnit = 3

/** Twice as fast as joining the texts first, which would slow down the bench. */
function bytesOf(texts: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, { length }) => sum + length * mostBytesPerUnit, 0))
  let written = 0
  for (const text of texts) written += bytes.write(text, written)
  return bytes.subarray(0, written)
}
