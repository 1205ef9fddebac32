import { hash } from 'node:crypto'
import { dayOf, shiftDay, type Day } from '../../domain/day.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { isObject } from '../../domain/text/json.ts'
import type { Clock } from '../../ports/process.ts'
import type { Look, ShieldClient } from '../client/client.ts'
import { entryTimeOf } from '../entries/identities.ts'
import { pagePath } from '../event-logs.ts'

export interface ProbeRequest {
  readonly zone: Zone
  /** How long the listing of today is watched. */
  readonly minutes: number
  readonly requestsPerSecond: number
  /** As configured. */
  readonly firstPage: string
}

/** A page as it was answered; of its entries only what tells where they stand. */
export interface ProbedPage {
  /** When it was requested, by the API's clock as far as it is known. */
  readonly atMs: number
  readonly hash: string
  readonly bytes: number
  /** Hashes of ids and times, in the order of the page. */
  readonly keys: readonly string[]
  readonly times: readonly (number | undefined)[]
  readonly more: boolean
  /** The token for the next page, as it was answered. */
  readonly token: unknown
}

/** One reading of a day from its first page on. */
export interface Walk {
  readonly day: Day
  readonly pages: readonly ProbedPage[]
  /** The last page was reached. */
  readonly isWhole: boolean
}

/** A page that was read once more by the token that had opened it. */
export interface Reread {
  readonly page: 'first' | 'later'
  readonly afterSeconds: number
  readonly answer: 'same' | 'rewritten' | 'longer' | 'other' | 'refused'
}

interface Tried {
  readonly isAnswered: boolean
  readonly status: number
  readonly errorKey: string | undefined
}

/** What a probe has seen. It holds counts and shapes, and hashes of ids. */
export class Observations {
  readonly today: Day
  readonly firstPages: ({ readonly form: string } & Tried)[] = []
  readonly days: ({ readonly day: Day; readonly events: number } & Tried)[] = []
  /** Of today, from time to time; `yesterday` once. */
  readonly walks: Walk[] = []
  yesterday: Walk | undefined
  readonly rereads: Reread[] = []
  readonly latenciesMs: number[] = []
  /** Values by name, of headers that tell of limits, caches and time; of others the name alone. */
  readonly headers = new Map<string, string | undefined>()
  readonly offsetsMs: number[] = []
  readonly entries = new EntryTally()
  requests = 0
  readonly statuses = new Map<number, number>()
  /** The requests took so long until now. */
  lastedMs = 0
  /** After so many requests, the API answered 429; the probe ended there. */
  throttledAfter: number | undefined
  retryAfter: string | undefined
  /** The code of the failure that ended it early. */
  endedBy: string | undefined

  constructor(today: Day) {
    this.today = today
  }
}

/** A day of more pages is not read to its end. */
const mostPages = 40
const mostDaysBack = 6
const mostWalks = 60
const watchEveryMs = 20_000
/** Then after twice the time, and so on: how long a token lives is known within a factor of two. */
const rereadFirstMs = 30_000

/**
 * Reads the listings of a zone: the forms of the first page, today and yesterday, pages once more, older days, then
 * today again and again for the minutes. Ends early, with what it has seen by then, at a 429, a stop, and a request
 * without an answer. Throws Failure where no form of the first page is answered.
 */
export async function readListings(
  request: ProbeRequest,
  { client, clock, tell }: { client: ShieldClient; clock: Clock; tell: (doing: string) => void },
  signal: AbortSignal,
): Promise<Observations> {
  const seen = new Observations(dayOf(clock.now()))
  let nextAt = 0
  let isRereadLast = false
  const startedMs = clock.monotonic()
  const { zone, minutes, requestsPerSecond } = request

  async function ask(day: Day, token: string, isFirst: boolean): Promise<Look> {
    await clock.sleep(Math.max(0, nextAt - clock.monotonic()), signal)
    nextAt = clock.monotonic() + 1000 / requestsPerSecond
    const path = pagePath(zone.id, day, token, isFirst)
    const look = await client.look(path, isFirst ? undefined : token, signal)
    seen.requests++
    seen.lastedMs = clock.monotonic() - startedMs
    seen.statuses.set(look.status, (seen.statuses.get(look.status) ?? 0) + 1)
    seen.latenciesMs.push(look.tookMs)
    if (look.clockOffsetMs !== undefined) seen.offsetsMs.push(look.clockOffsetMs)
    for (const [name, value] of Object.entries(look.headers))
      seen.headers.set(name, telling.test(name) ? String(value).slice(0, 80) : undefined)
    if (!isFailure(look.failure, 'throttled')) return look
    seen.throttledAfter = seen.requests
    seen.retryAfter = look.headers['retry-after'] ?? 'none'
    throw look.failure
  }

  const triedOf = ({ failure, status }: Look): Tried => ({
    isAnswered: failure === undefined,
    status,
    errorKey: failure?.details.errorKey,
  })

  async function firstForm(): Promise<string> {
    const forms = new Set([request.firstPage, 'omit', 'empty', 'start'])
    let refused: Failure | undefined
    for (const form of forms) {
      const look = await ask(seen.today, form, true)
      seen.firstPages.push({ form, ...triedOf(look) })
      refused ??= look.failure
    }
    const good = seen.firstPages.find(({ isAnswered }) => isAnswered)
    if (good === undefined)
      throw refused ?? new Failure('refuse', 'rejected', 'the API answers no first page')
    return good.form
  }

  function pageOf({ parsed, body, requestedAt, clockOffsetMs = 0 }: Look, counts: boolean): ProbedPage {
    const { logs, hasMoreData, continuationToken } = isObject(parsed) ? parsed : {}
    const entries: readonly unknown[] = Array.isArray(logs) ? logs : []
    if (counts) for (const entry of entries) seen.entries.add(entry)
    const parts = entries.map((entry) => (isObject(entry) ? entry : {}))
    return {
      atMs: requestedAt + clockOffsetMs,
      hash: hash('sha1', body),
      bytes: body.length,
      keys: parts.map(({ logId, timestamp }) => hash('sha1', JSON.stringify([logId, timestamp]))),
      times: parts.map(({ timestamp }) => entryTimeOf(timestamp)?.timeMs),
      more: hasMoreData === true,
      token: continuationToken,
    }
  }

  async function walk(day: Day, form: string, counts: boolean): Promise<Walk> {
    const pages: ProbedPage[] = []
    const tokens = new Set<string>()
    for (let token = form; pages.length < mostPages;) {
      const look = await ask(day, token, pages.length === 0)
      if (look.failure !== undefined) break
      const page = pageOf(look, counts)
      pages.push(page)
      if (!page.more) return { day, pages, isWhole: true }
      if (typeof page.token !== 'string' || page.token === '' || tokens.has(page.token)) break
      tokens.add((token = page.token))
    }
    return { day, pages, isWhole: false }
  }

  async function reread(form: string, { day, pages }: Walk): Promise<void> {
    const second = pages[0]?.more === true ? pages[0].token : undefined
    for (const [page, token, before] of [
      ['first', form, pages[0]],
      ['later', second, pages[1]],
    ] as const) {
      if (before === undefined || typeof token !== 'string') continue
      const look = await ask(day, token, page === 'first')
      const now = pageOf(look, false)
      const isLonger = before.keys.every((key, index) => now.keys[index] === key)
      const answer = look.failure
        ? 'refused'
        : now.hash === before.hash
          ? 'same'
          : !isLonger
            ? 'other'
            : now.keys.length > before.keys.length
              ? 'longer'
              : 'rewritten'
      seen.rereads.push({ page, afterSeconds: (now.atMs - before.atMs) / 1000, answer })
    }
  }

  try {
    tell('first pages')
    const form = await firstForm()
    tell('today')
    const first = await walk(seen.today, form, true)
    seen.walks.push(first)
    await reread(form, first)
    tell('past days')
    for (let back = 1; back <= mostDaysBack && seen.days.at(-1)?.isAnswered !== false; back++) {
      const day = shiftDay(seen.today, -back)
      const look = await ask(day, form, true)
      seen.days.push({ day, events: pageOf(look, false).keys.length, ...triedOf(look) })
      if (back === 1 && look.failure === undefined) seen.yesterday = await walk(day, form, true)
    }
    const beganMs = clock.monotonic()
    const endMs = beganMs + minutes * 60_000
    let rereadAfterMs = rereadFirstMs
    while (clock.monotonic() < endMs && seen.walks.length < mostWalks) {
      tell(`today again, ${Math.ceil((endMs - clock.monotonic()) / 1000)} s left`)
      await clock.sleep(Math.min(watchEveryMs, endMs - clock.monotonic()), signal)
      seen.walks.push(await walk(seen.today, form, false))
      isRereadLast = clock.monotonic() - beganMs >= rereadAfterMs
      if (!isRereadLast) continue
      await reread(form, first)
      rereadAfterMs *= 2
    }
    if (!isRereadLast) await reread(form, first)
  } catch (error) {
    if (!isFailure(error) || seen.walks.length === 0) throw error
    seen.endedBy = error.code
  }
  return seen
}

/** Headers whose values tell something of the service and nothing of the account. */
const telling =
  /^(?:retry-after|.*rate-?limit.*|cache-control|age|etag|last-modified|expires|content-encoding|content-type|date|vary|cdn-cache|server)$/

/** What the formats make use of. */
const knownMembers = new Set(['logId', 'timestamp', 'log', 'labels'])
const knownLabels = new Set([
  'asn',
  'country',
  'ruleId',
  'severity',
  'method',
  'ruleGroup',
  'status',
  'serverZone',
])
const knownFields = new Set([
  'ServerZoneId',
  'Message',
  'Url',
  'RemoteIp',
  'UrlEncodedBody',
  'Headers',
  'TriggerMatch',
])
/** The service chooses the names; more of them are counted together. */
const mostNames = 50

/** Counts of what entries hold, without any of their content. */
class EntryTally {
  count = 0
  bytes = 0
  largest = 0
  /** Without a `logId`; with one that another entry of the probe has, too. */
  withoutId = 0
  repeatedIds = 0
  masked = 0
  /** Kinds of `log`, units of `timestamp`, and names that no format knows, each with its count. */
  readonly logs = new Map<string, number>()
  readonly units = new Map<string, number>()
  readonly unknown = new Map<string, number>()
  readonly #ids = new Set<string>()

  add(entry: unknown): void {
    const size = Buffer.byteLength(JSON.stringify(entry))
    this.count++
    this.bytes += size
    this.largest = Math.max(this.largest, size)
    if (!isObject(entry)) return note(this.unknown, 'an entry that is no object')
    const { logId, timestamp, log, labels } = entry
    if (typeof logId !== 'string' || logId === '') this.withoutId++
    else if (this.#ids.has(logId)) this.repeatedIds++
    else this.#ids.add(logId)
    note(this.units, unitOf(timestamp))
    this.#name('member', entry, knownMembers)
    if (isObject(labels)) this.#name('label', labels, knownLabels)
    const decoded = typeof log === 'string' ? parsed(log) : log
    note(this.logs, kindOf(log, decoded))
    if (!isObject(decoded)) return
    this.#name('field of log', decoded, knownFields)
    if (typeof decoded['RemoteIp'] === 'string' && decoded['RemoteIp'].endsWith('*')) this.masked++
  }

  #name(what: string, of: object, known: ReadonlySet<string>): void {
    for (const name of Object.keys(of))
      if (!known.has(name)) note(this.unknown, `${what} ${name.slice(0, 60)}`)
  }
}

function note(counts: Map<string, number>, name: string): void {
  const counted = counts.has(name) || counts.size < mostNames ? name : 'others'
  counts.set(counted, (counts.get(counted) ?? 0) + 1)
}

function unitOf(timestamp: unknown): string {
  if (entryTimeOf(timestamp) === undefined) return 'none'
  if (typeof timestamp !== 'number') return 'text'
  const digits = Math.floor(Math.abs(timestamp)).toString().length
  return digits <= 11 ? 'seconds' : digits <= 14 ? 'ms' : digits <= 17 ? 'µs' : 'ns'
}

function kindOf(log: unknown, decoded: unknown): string {
  if (log === null || log === undefined) return 'null'
  if (typeof log !== 'string') return isObject(log) ? 'object' : 'other'
  return isObject(decoded) ? 'text of JSON' : 'plain text'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
