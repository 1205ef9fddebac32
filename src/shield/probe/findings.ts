import { unexpectedText } from '../../domain/event/unexpected.ts'
import { counted } from '../../domain/text/terminal-text.ts'
import type { Observations, Walk } from './read-listings.ts'

/** One point of the API that is not documented. */
export interface ProbedPoint {
  readonly point: string
  /** What shieldlog assumes, by its defaults. */
  readonly assumed: string
  readonly found: string
  readonly setting?: string
  /** What that setting should be, where the default does not do. */
  readonly value?: string | number | undefined
}

const defaultMaxPageBytes = 33_554_432
/** The probe ended before. */
const notRead = 'not read'

export function findingsOf(seen: Observations, requestsPerSecond: number): ProbedPoint[] {
  const { walks, yesterday, firstPages, answers } = seen
  const all = [...walks, yesterday ?? []].flat()
  const pages = all.flatMap((walk) => walk.pages)
  const working = firstPages.filter(({ failure }) => failure === undefined).map(({ form }) => form)
  const largest = Math.max(0, ...pages.map(({ bytes }) => bytes))
  const times = answers.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other)
  const slowestMs = Math.round(times.at(-1)!)
  const arrivals = arrivalsOf(walks)
  const absent = Math.max(0, ...arrivals.map(({ absentMs }) => absentMs)) / 60_000
  const soonest = Math.min(...arrivals.map(({ listedMs }) => listedMs)) / 1000
  return [
    {
      point: 'first page',
      assumed: 'omit works',
      found:
        firstPages
          .map(({ form, failure, status }) => `${form} ${failure ? `is refused (${status})` : 'works'}`)
          .join(', ') || notRead,
      setting: 'api.firstPage',
      value: working.includes('omit') ? undefined : working[0],
    },
    {
      point: 'page size',
      assumed: 'any, up to 32 MiB',
      found: pages.length === 0 ? notRead : `${sizesOf(pages)}; the largest has ${largest} bytes`,
      setting: 'api.maxPageBytes',
      value: largest * 4 > defaultMaxPageBytes ? 2 ** Math.ceil(Math.log2(largest * 4)) : undefined,
    },
    { point: 'events of today', assumed: 'any number', found: sizeOf(walks.at(-1)) },
    { point: 'events of yesterday', assumed: 'any number', found: sizeOf(yesterday) },
    { point: 'order', assumed: 'unknown; each stream finds out', found: orderOf(all) },
    {
      point: 'new events turn up',
      assumed: 'anywhere',
      found: listOf(Map.groupBy(arrivals, ({ place }) => place)) || 'none turned up',
    },
    {
      point: 'late events',
      assumed: 'within 10 min of their time',
      found:
        arrivals.length === 0
          ? 'none turned up'
          : `the latest was not listed ${absent.toFixed(1)} min after its time; the soonest was after ${soonest.toFixed(0)} s`,
      setting: 'poll.overlapMinutes',
      value: absent > 10 ? Math.ceil(absent * 1.5) : undefined,
    },
    ...(['first', 'later'] as const).map((page) => ({
      point: `${page} page, read again`,
      assumed: 'may differ; a token may expire',
      found:
        seen.rereads
          .filter((reread) => reread.page === page)
          .map(({ afterSeconds, answer }) => `after ${Math.round(afterSeconds)} s ${answer}`)
          .join(', ') || 'there was none',
    })),
    { point: 'token of the last page', assumed: 'any, or none', found: lastTokenOf(all) },
    readableDays(seen),
    limit(seen, requestsPerSecond),
    {
      point: 'latency',
      assumed: 'below 30 s',
      found: `median ${Math.round(times[Math.floor(times.length / 2)]!)} ms, longest ${slowestMs} ms`,
      setting: 'api.requestTimeoutSeconds',
      value: slowestMs > 10_000 ? Math.ceil((slowestMs * 3) / 1000) : undefined,
    },
    { point: 'unexpected entries', assumed: 'none', found: unexpectedFound(seen) },
  ]
}

/** `member 12, time 3: members that shieldlog does not know (ja4), …`. */
function unexpectedFound({ unexpected: { names, counts } }: Observations): string {
  const told = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  return told.length === 0 ? 'none' : `${told.join(', ')}: ${unexpectedText(names)}`
}

/** The settings that differ from their defaults, as a configuration has them. */
export function settingsOf(findings: readonly ProbedPoint[]): Record<string, object> {
  const sections: Record<string, Record<string, string | number>> = {}
  for (const { setting = '', value } of findings) {
    if (value === undefined) continue
    const [section = '', name = ''] = setting.split('.')
    ;(sections[section] ??= {})[name] = value
  }
  return sections
}

type Pages = Walk['pages']

function rangeOf(numbers: readonly number[]): string {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
  return least === most ? String(most) : `${least} to ${most}`
}

function listOf(groups: ReadonlyMap<string, readonly unknown[]>): string {
  return [...groups].map(([name, some]) => `${some.length} ${name}`).join(', ')
}

function sizesOf(pages: Pages): string {
  const full = pages.filter(({ more }) => more).map(({ keys }) => keys.length)
  if (full.length > 0) return `${rangeOf(full)} events on every page but the last`
  return `one page of ${counted(Math.max(0, ...pages.map(({ keys }) => keys.length)), 'event')}`
}

function sizeOf(walk: Walk | undefined): string {
  if (walk === undefined) return notRead
  const { pages, isWhole } = walk
  const events = pages.flatMap(({ keys }) => keys).length
  return `${isWhole ? '' : 'at least '}${counted(events, 'event')} on ${counted(pages.length, 'page')}`
}

/** Counts within pages, and between the beginnings of pages: a listing that grows while it is read shifts their ends. */
function orderOf(walks: readonly Walk[]): string {
  const inPages = walks.flatMap(({ pages }) => pages.map(({ times }) => times))
  const beginnings = walks.map(({ pages }) => pages.map(({ times }) => times[0]))
  const steps = [...inPages, ...beginnings].flatMap((held) => {
    const times = held.filter((time) => time !== undefined)
    return times.slice(1).flatMap((time, index) => Math.sign(time - times[index]!) || [])
  })
  if (steps.length < 3) return 'too few events to tell'
  const up = steps.filter((step) => step > 0).length
  if (up === steps.length) return 'oldest first'
  if (up === 0) return 'newest first'
  const [share, name] = up * 2 > steps.length ? [up, 'oldest'] : [steps.length - up, 'newest']
  const percent = Math.floor((share / steps.length) * 100)
  return percent >= 95 ? `mostly ${name} first (${percent} %)` : 'none'
}

/** The events that a reading of today has and the one before it had not. */
function arrivalsOf(walks: readonly Walk[]) {
  return walks.slice(1).flatMap((walk, index) => {
    const before = walks[index]!
    if (!walk.isWhole || !before.isWhole) return []
    const earlier = new Set(before.pages.flatMap(({ keys }) => keys))
    const listed = walk.pages.flatMap(({ keys, times, atMs }) =>
      keys.map((key, at) => ({ isKnown: earlier.has(key), time: times[at], atMs })),
    )
    const isKnown = listed.map((event) => event.isKnown)
    const [from, to] = [isKnown.indexOf(true), isKnown.lastIndexOf(true)]
    return listed.flatMap(({ time, atMs }, at) => {
      if (isKnown[at] === true || time === undefined) return []
      const place = from < 0 || at > to ? 'at the end' : at < from ? 'at the beginning' : 'between others'
      // So long after its time it was not listed yet, and by then it was.
      return [{ place, absentMs: before.pages.at(-1)!.atMs - time, listedMs: atMs - time }]
    })
  })
}

function lastTokenOf(walks: readonly Walk[]): string {
  const found = walks.flatMap(({ pages, isWhole }) => {
    if (!isWhole) return []
    const [before, last] = [pages.at(-2)?.token, pages.at(-1)?.token]
    if (last === '') return 'empty'
    if (last === null || last === undefined) return 'null'
    return last === before ? 'repeated' : 'one of its own'
  })
  return [...new Set(found)].join(', ') || 'no last page was reached'
}

function readableDays({ days }: Observations): ProbedPoint {
  const refused = days.find(({ failure }) => failure !== undefined)
  // A service that answers any day may have no events of old ones any more.
  const last = refused === undefined ? days.findLastIndex(({ events }) => events > 0) : days.length - 2
  const readable = last + 2
  const empty = refused === undefined ? days[last + 1] : undefined
  const told = [
    refused ? String(readable) : `at least ${readable}`,
    refused &&
      `${refused.day} is answered ${[refused.status, refused.failure?.details.errorKey].join(' ').trim()}`,
    empty && `from ${empty.day} on back answered without events`,
  ]
  // Days without events may as well be days on which nothing happened.
  const differs = readable > 3 || (refused !== undefined && readable < 3)
  return {
    point: 'readable days',
    assumed: '3, today included',
    found: days.length === 0 ? notRead : told.filter(Boolean).join('; '),
    setting: 'poll.readableDays',
    value: differs ? readable : undefined,
  }
}

function limit({ answers, lastedMs, retryAfter, endedBy }: Observations, perSecond: number): ProbedPoint {
  const finding = {
    point: 'requests',
    assumed: 'a limit that answers 429',
    setting: 'api.maxRequestsPerSecond',
  }
  if (retryAfter === undefined) {
    const statuses = Map.groupBy(answers, ({ status }) => `× ${status}`)
    const ended = endedBy === undefined ? '' : `; then ended by ${endedBy}`
    const found = `${answers.length} at ${perSecond} a second were answered: ${listOf(statuses)}${ended}`
    return { ...finding, found }
  }
  // So many in the time that passes until the next one is allowed.
  const allowed = ((answers.length - 1) * 1000) / (lastedMs + Number(retryAfter) * 1000)
  const value = Math.floor(allowed * 100) / 100
  const found = `429 at request ${answers.length}, at ${perSecond} a second; Retry-After: ${retryAfter}`
  return { ...finding, found, value: value > 0 ? value : undefined }
}
