import { counted } from '../../domain/text/counts.ts'
import type { ProbeRequest, Observations, Walk } from './read-listings.ts'

/** One point of the API that is not documented. */
export interface Finding {
  readonly point: string
  /** What shieldlog assumes, by its defaults. */
  readonly assumed: string
  readonly found: string
  readonly setting?: string
  /** What that setting should be, where the default does not do. */
  readonly value?: string | number
}

export function findingsOf(seen: Observations, { requestsPerSecond }: ProbeRequest): Finding[] {
  const first = seen.walks[0]!
  const all = [...seen.walks, seen.yesterday ?? []].flat()
  return [
    firstPage(seen),
    pageSizes(all),
    { point: 'events of today', assumed: 'any number', found: sizeOf(seen.walks.at(-1)!) },
    ...(seen.yesterday === undefined
      ? []
      : [{ point: 'events of yesterday', assumed: 'any number', found: sizeOf(seen.yesterday) }]),
    { point: 'order', assumed: 'unknown; each stream finds out', found: orderOf(all) },
    { point: 'new events turn up', assumed: 'anywhere', found: placesOf(seen.walks) },
    lateness(seen.walks),
    ...rereads(seen),
    { point: 'token of the last page', assumed: 'any, or none', found: lastTokenOf(all) },
    { point: 'tokens', assumed: 'any text', found: alphabetOf(all) },
    { point: 'life of tokens', assumed: 'any; a token may expire', found: lifeOf(seen) },
    readableDays(seen),
    limit(seen, requestsPerSecond),
    { point: 'headers', assumed: 'Date; Retry-After with 429', found: headersOf(seen) },
    { point: 'clock', assumed: 'within 30 s of this host', found: clockOf(seen) },
    latency(seen),
    ...entries(seen),
    { point: 'zones of this size', assumed: '', found: zonesOf(first, seen, requestsPerSecond) },
  ]
}

/** The settings that differ from their defaults, by path. */
export function settingsOf(findings: readonly Finding[]): Map<string, string | number> {
  const differing = findings.filter(({ value }) => value !== undefined)
  return new Map(differing.map(({ setting, value }) => [setting!, value!]))
}

function firstPage({ firstPages }: Observations): Finding {
  const found = firstPages.map(
    ({ form, isAnswered, status }) => `${form} ${isAnswered ? 'works' : `is refused (${status})`}`,
  )
  const working = firstPages.filter(({ isAnswered }) => isAnswered).map(({ form }) => form)
  const needed = working.includes('omit') ? undefined : working[0]
  return {
    point: 'first page',
    assumed: 'omit works',
    found: found.join(', '),
    setting: 'api.firstPage',
    ...(needed !== undefined && { value: needed }),
  }
}

const defaultMaxPageBytes = 33_554_432

function pageSizes(walks: readonly Walk[]): Finding {
  const pages = walks.flatMap((walk) => walk.pages)
  const full = pages.filter(({ more }) => more)
  const most = Math.max(0, ...pages.map(({ keys }) => keys.length))
  const bytes = Math.max(0, ...pages.map((page) => page.bytes))
  const sizes = full.map(({ keys }) => keys.length)
  const least = Math.min(...sizes)
  const found =
    full.length === 0
      ? `one page of ${counted(most, 'event')}`
      : least === most
        ? `${most} events on every page but the last`
        : `${least} to ${most} events`
  return {
    point: 'page size',
    assumed: 'any, up to 32 MiB',
    found: `${found}; the largest has ${bytes} bytes`,
    setting: 'api.maxPageBytes',
    ...(bytes * 4 > defaultMaxPageBytes && { value: 2 ** Math.ceil(Math.log2(bytes * 4)) }),
  }
}

function sizeOf({ pages, isWhole }: Walk): string {
  const events = pages.flatMap(({ keys }) => keys).length
  return `${isWhole ? '' : 'at least '}${counted(events, 'event')} on ${counted(pages.length, 'page')}`
}

/** Counts within pages, and between the beginnings of pages: a listing that grows while it is read shifts their ends. */
function orderOf(walks: readonly Walk[]): string {
  let [up, down] = [0, 0]
  const timed = (times: readonly (number | undefined)[]) => times.filter((time) => time !== undefined)
  const inPages = walks.flatMap(({ pages }) => pages.map(({ times }) => timed(times)))
  const beginnings = walks.map(({ pages }) => timed(pages.map(({ times }) => times[0])))
  for (const times of [...inPages, ...beginnings])
    for (let at = 1; at < times.length; at++) {
      if (times[at]! > times[at - 1]!) up++
      else if (times[at]! < times[at - 1]!) down++
    }
  const all = up + down
  if (all < 3) return 'too few events to tell'
  if (down === 0) return 'oldest first'
  if (up === 0) return 'newest first'
  const [share, name] = up > down ? [up / all, 'oldest'] : [down / all, 'newest']
  return share > 0.95 ? `mostly ${name} first (${Math.floor(share * 100)} %)` : 'none'
}

interface Arrival {
  readonly place: 'at the end' | 'at the beginning' | 'between others'
  /** So long after its time it was not listed yet, and by then it was. */
  readonly absentMs: number
  readonly listedMs: number
}

/** The events that a reading of today has and the one before it had not. */
function arrivalsOf(walks: readonly Walk[]): Arrival[] {
  return walks.slice(1).flatMap((walk, index) => {
    const before = walks[index]!
    if (!walk.isWhole || !before.isWhole || before.pages.length === 0) return []
    const known = new Set(before.pages.flatMap(({ keys }) => keys))
    const listed = walk.pages.flatMap(({ keys, times, atMs }) =>
      keys.map((key, at) => ({ key, time: times[at], atMs })),
    )
    const isKnown = listed.map(({ key }) => known.has(key))
    const [from, to] = [isKnown.indexOf(true), isKnown.lastIndexOf(true)]
    return listed.flatMap(({ time, atMs }, at) => {
      if (isKnown[at] === true || time === undefined) return []
      const place = from < 0 || at > to ? 'at the end' : at < from ? 'at the beginning' : 'between others'
      return [{ place, absentMs: before.pages.at(-1)!.atMs - time, listedMs: atMs - time } as const]
    })
  })
}

function placesOf(walks: readonly Walk[]): string {
  const arrivals = arrivalsOf(walks)
  if (arrivals.length === 0) return 'none turned up'
  const places = Map.groupBy(arrivals, ({ place }) => place)
  return [...places].map(([place, some]) => `${some.length} ${place}`).join(', ')
}

function lateness(walks: readonly Walk[]): Finding {
  const arrivals = arrivalsOf(walks)
  const absent = Math.max(0, ...arrivals.map(({ absentMs }) => absentMs)) / 60_000
  const soonest = Math.min(...arrivals.map(({ listedMs }) => listedMs)) / 1000
  const latest = `the latest was not listed ${absent.toFixed(1)} min after its time`
  return {
    point: 'late events',
    assumed: 'within 10 min of their time',
    found:
      arrivals.length === 0 ? 'none turned up' : `${latest}; the soonest was after ${soonest.toFixed(0)} s`,
    setting: 'poll.overlapMinutes',
    ...(absent > 10 && { value: Math.ceil(absent * 1.5) }),
  }
}

function rereads({ rereads }: Observations): Finding[] {
  return (['first', 'later'] as const).map((which) => {
    const found = rereads
      .filter(({ page }) => page === which)
      .map(({ afterSeconds, answer }) => `after ${Math.round(afterSeconds)} s ${answers[answer]}`)
    return {
      point: `${which} page, read again`,
      assumed: 'may differ; a token may expire',
      found: found.join(', ') || 'there was none',
    }
  })
}

const answers = {
  same: 'the same',
  rewritten: 'the same events in other bytes',
  longer: 'the same with more events',
  other: 'other events',
  refused: 'refused',
}

function lastTokenOf(walks: readonly Walk[]): string {
  const found = walks.flatMap(({ pages, isWhole }) => {
    const [last, before] = [pages.at(-1), pages.at(-2)]
    if (!isWhole || last === undefined) return []
    const { token } = last
    if (token === '' || token === null || token === undefined) return [token === '' ? 'empty' : 'null']
    return [before?.token === token ? 'repeated' : 'one of its own']
  })
  return [...new Set(found)].join(', ') || 'no last page was reached'
}

function alphabetOf(walks: readonly Walk[]): string {
  const tokens = walks.flatMap(({ pages }) => pages.filter(({ more }) => more).map(({ token }) => token))
  const texts = tokens.filter((token) => typeof token === 'string')
  if (texts.length === 0) return 'a day has one page'
  const kinds = [
    ['letters', /[a-z]/i],
    ['digits', /\d/],
    ['signs', /[^a-z\d]/i],
  ] as const
  const held = kinds.filter(([, pattern]) => texts.some((text) => pattern.test(text))).map(([name]) => name)
  const signs = [...new Set(texts.join('').replaceAll(/[a-z\d]/gi, ''))].slice(0, 20).join(' ')
  const [least, most] = [Math.min, Math.max].map((of) => of(...texts.map(({ length }) => length)))
  return `${least === most ? most : `${least} to ${most}`} characters: ${held.join(', ')}${signs && ` (${signs})`}`
}

/** As pages that were read again show it. */
function lifeOf({ rereads }: Observations): string {
  const later = rereads.filter(({ page }) => page === 'later')
  const ages = (isRefused: boolean) =>
    later.flatMap(({ afterSeconds, answer }) => ((answer === 'refused') === isRefused ? [afterSeconds] : []))
  const [accepted, refused] = [Math.max(0, ...ages(false)), Math.min(...ages(true))]
  if (later.length === 0) return 'a day has one page'
  return `more than ${Math.floor(accepted)} s${refused < Infinity ? `, and less than ${Math.ceil(refused)} s` : ''}`
}

function readableDays({ days }: Observations): Finding {
  const refused = days.find(({ isAnswered }) => !isAnswered)
  // A service that answers any day may have no events of old ones any more.
  const last = refused === undefined ? days.findLastIndex(({ events }) => events > 0) : days.length - 2
  const readable = last + 2
  const empty = refused === undefined ? days[last + 1] : undefined
  const answer =
    refused &&
    `; ${refused.day} is answered ${refused.status}${refused.errorKey === undefined ? '' : ` ${refused.errorKey}`}`
  return {
    point: 'readable days',
    assumed: '3, today included',
    found: `${refused ? '' : 'at least '}${readable}${answer ?? ''}${empty ? `; from ${empty.day} on back answered without events` : ''}`,
    setting: 'poll.readableDays',
    // Days without events may as well be days on which nothing happened.
    ...(days.length > 0 && readable !== 3 && (refused !== undefined || readable > 3) && { value: readable }),
  }
}

function limit(seen: Observations, perSecond: number): Finding {
  const { requests, statuses, lastedMs, throttledAfter, retryAfter, endedBy } = seen
  const answers = [...statuses].map(([status, some]) => `${some} × ${status}`).join(', ')
  const ended = endedBy === undefined ? '' : `; then ended by ${endedBy}`
  const finding = {
    point: 'requests',
    assumed: 'a limit that answers 429',
    found: `${requests} at ${perSecond} a second were answered: ${answers}${ended}`,
    setting: 'api.maxRequestsPerSecond',
  }
  if (throttledAfter === undefined) return finding
  const found = `429 at request ${throttledAfter}, at ${perSecond} a second; Retry-After: ${retryAfter}`
  // So many in the time that passes until the next one is allowed.
  const allowed = ((throttledAfter - 1) * 1000) / (lastedMs + Number(retryAfter) * 1000)
  const value = Math.floor(allowed * 100) / 100
  return { ...finding, found, ...(value > 0 && { value }) }
}

const plainHeaders = new Set([
  'date',
  'content-type',
  'content-length',
  'connection',
  'keep-alive',
  'transfer-encoding',
])

function headersOf({ headers }: Observations): string {
  const told = [...headers].filter(([name]) => !plainHeaders.has(name))
  const texts = told.map(([name, value]) => (value === undefined ? name : `${name}: ${value}`))
  return texts.join('; ') || 'none of limits, caches or compression'
}

function clockOf({ offsetsMs }: Observations): string {
  if (offsetsMs.length === 0) return 'answers have no Date'
  const worst = offsetsMs.reduce((one, other) => (Math.abs(other) > Math.abs(one) ? other : one))
  return worst === 0 ? 'the same' : `${(worst / 1000).toFixed(1)} s from this host`
}

function latency({ latenciesMs }: Observations): Finding {
  const sorted = latenciesMs.toSorted((one, other) => one - other)
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!)
  return {
    point: 'latency',
    assumed: 'below 30 s',
    found: `median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`,
    setting: 'api.requestTimeoutSeconds',
    ...(at(1) > 10_000 && { value: Math.ceil((at(1) * 3) / 1000) }),
  }
}

function entries({ entries: tally }: Observations): Finding[] {
  const { count, bytes, largest, withoutId, repeatedIds, masked, logs, units, unknown } = tally
  if (count === 0) return [{ point: 'entries', assumed: '', found: 'there were none' }]
  const share = (part: number) => `${part} of ${count}`
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([name, some]) => `${name} ${some}`).join(', ')
  return [
    {
      point: 'entries',
      assumed: 'about 500 bytes',
      found: `${count}, ${Math.round(bytes / count)} bytes each, the largest ${largest}`,
    },
    {
      point: 'ids',
      assumed: 'one each',
      found: `missing in ${share(withoutId)}, repeated in ${share(repeatedIds)}`,
    },
    { point: 'timestamps', assumed: 'ms', found: list(units) },
    { point: 'log', assumed: 'text of JSON', found: list(logs) },
    { point: 'addresses', assumed: 'whole or masked', found: `masked in ${share(masked)}` },
    { point: 'unknown names', assumed: 'none', found: list(unknown) || 'none' },
  ]
}

/** A poll without a known order reads the whole day; a fifth of the requests is left for other zones' scans. */
function zonesOf({ pages }: Walk, { throttledAfter, latenciesMs }: Observations, perSecond: number): string {
  if (throttledAfter !== undefined) return 'unknown, since requests were refused'
  const everySeconds = 30
  const known = Math.floor(everySeconds * perSecond)
  const whole = Math.floor((everySeconds * perSecond) / Math.max(1, pages.length))
  const meanMs = latenciesMs.reduce((sum, ms) => sum + ms, 0) / latenciesMs.length
  return `at least ${known} polled every ${everySeconds} s once their order is known, ${whole} before that; a page takes ${Math.round(meanMs)} ms`
}
