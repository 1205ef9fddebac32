import { hash } from 'node:crypto'
import { dayOf, shiftDay, type Day } from '../../domain/day.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { isObject, type Json } from '../../domain/text/json.ts'
import { joined, type Unexpected } from '../../domain/event/unexpected.ts'
import type { Clock } from '../../ports/process.ts'
import type { Look, ShieldClient } from '../client/client.ts'
import { entryTimeOf } from '../entries/identities.ts'
import { unexpectedOf } from '../entries/unexpected.ts'
import { pagePath } from '../event-logs.ts'

interface ProbeRequest {
  readonly zone: Zone
  /** How long the listing of today is watched. */
  readonly minutes: number
  readonly requestsPerSecond: number
  /** As configured. */
  readonly firstPage: string
}

/** A page as it was answered; of its entries only what tells where they stand. */
function pageOf({ parsed, body, requestedAt, clockOffsetMs = 0 }: Look) {
  const { logs, hasMoreData, continuationToken } = isObject(parsed) ? parsed : {}
  const entries: readonly Json[] = Array.isArray(logs) ? logs : []
  const parts = entries.map((entry) => (isObject(entry) ? entry : {}))
  return {
    entries,
    /** When it was requested, by the API's clock as far as it is known. */
    atMs: requestedAt + clockOffsetMs,
    hash: hash('sha1', body),
    bytes: body.length,
    /** Hashes of ids and times, in the order of the page. */
    keys: parts.map(({ logId, timestamp }) => hash('sha1', JSON.stringify([logId, timestamp]))),
    times: parts.map(({ timestamp }) => entryTimeOf(timestamp)?.timeMs),
    more: hasMoreData === true,
    /** The token for the next page, as it was answered. */
    token: continuationToken,
  }
}

type ProbedPage = Omit<ReturnType<typeof pageOf>, 'entries'>

/** One reading of a day from its first page on. */
export interface Walk {
  readonly day: Day
  readonly pages: readonly ProbedPage[]
  /** The last page was reached. */
  readonly isWhole: boolean
}

type Tried = Pick<Look, 'status' | 'failure'>

/** What a probe has seen. It holds counts and shapes, names of what is unexpected, and hashes of ids. */
export class Observations {
  readonly firstPages: ({ readonly form: string } & Tried)[] = []
  readonly days: ({ readonly day: Day; readonly events: number } & Tried)[] = []
  /** Of today, from time to time; `yesterday` once. */
  readonly walks: Walk[] = []
  yesterday: Walk | undefined
  /** Pages that were read once more by the tokens that had opened them. */
  readonly rereads: {
    readonly page: 'first' | 'later'
    readonly afterSeconds: number
    readonly answer:
      'the same' | 'the same events in other bytes' | 'more events' | 'other events' | 'refused'
  }[] = []
  readonly answers: Pick<Look, 'status' | 'tookMs'>[] = []
  /** What a running shieldlog would tell of the entries. */
  unexpected: Unexpected = { names: {}, counts: {} }
  /** The requests took so long until now. */
  lastedMs = 0
  /** The last answer was 429, with this header; the probe ended there. */
  retryAfter: string | undefined
  /** The code of the failure that ended it early. */
  endedBy: string | undefined
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
 * without an answer. Throws Failure where no form of the first page is answered, except for a 429.
 */
export async function readListings(
  { zone, minutes, requestsPerSecond, firstPage }: ProbeRequest,
  { client, clock, tell }: { client: ShieldClient; clock: Clock; tell: (doing: string) => void },
  signal: AbortSignal,
): Promise<Observations> {
  const seen = new Observations()
  const today = dayOf(clock.now())
  const startedMs = clock.monotonic()
  let nextAt = 0

  async function ask(day: Day, token: string, isFirst: boolean): Promise<Look> {
    await clock.sleep(Math.max(0, nextAt - clock.monotonic()), signal)
    nextAt = clock.monotonic() + 1000 / requestsPerSecond
    const look = await client.look(
      pagePath(zone.id, day, token, isFirst),
      isFirst ? undefined : token,
      signal,
    )
    seen.answers.push({ status: look.status, tookMs: look.tookMs })
    seen.lastedMs = clock.monotonic() - startedMs
    if (!isFailure(look.failure, 'throttled')) return look
    seen.retryAfter = look.headers['retry-after'] ?? 'none'
    throw look.failure
  }

  async function firstForm(): Promise<string> {
    for (const form of new Set([firstPage, 'omit', 'empty', 'start'])) {
      const { status, failure } = await ask(today, form, true)
      seen.firstPages.push({ form, status, failure })
    }
    const good = seen.firstPages.find(({ failure }) => failure === undefined)
    if (good === undefined) throw seen.firstPages[0]!.failure!
    return good.form
  }

  async function walk(day: Day, form: string, counts: boolean): Promise<Walk> {
    const pages: ProbedPage[] = []
    const tokens = new Set<string>()
    for (let token = form; pages.length < mostPages;) {
      const look = await ask(day, token, pages.length === 0)
      if (look.failure !== undefined) break
      const { entries, ...page } = pageOf(look)
      const hasTime = (index: number) => page.times[index] !== undefined
      if (counts) seen.unexpected = joined([seen.unexpected, unexpectedOf(entries, hasTime)])
      pages.push(page)
      if (!page.more) return { day, pages, isWhole: true }
      if (typeof page.token !== 'string' || page.token === '' || tokens.has(page.token)) break
      tokens.add((token = page.token))
    }
    return { day, pages, isWhole: false }
  }

  async function reread(form: string, { day, pages }: Walk): Promise<void> {
    for (const [page, token, before] of [
      ['first', form, pages[0]],
      ['later', pages[0]?.token, pages[1]],
    ] as const) {
      if (before === undefined || typeof token !== 'string') continue
      const look = await ask(day, token, page === 'first')
      const now = pageOf(look)
      const isLonger = now.keys.length > before.keys.length
      const answer = look.failure
        ? 'refused'
        : now.hash === before.hash
          ? 'the same'
          : before.keys.some((key, index) => now.keys[index] !== key)
            ? 'other events'
            : isLonger
              ? 'more events'
              : 'the same events in other bytes'
      seen.rereads.push({ page, afterSeconds: (now.atMs - before.atMs) / 1000, answer })
    }
  }

  try {
    tell('first pages')
    const form = await firstForm()
    tell('today')
    const first = await walk(today, form, true)
    seen.walks.push(first)
    await reread(form, first)
    tell('past days')
    for (let back = 1; back <= mostDaysBack && seen.days.at(-1)?.failure === undefined; back++) {
      const day = shiftDay(today, -back)
      const look = await ask(day, form, true)
      const { status, failure } = look
      seen.days.push({ day, events: pageOf(look).keys.length, status, failure })
      if (back === 1 && failure === undefined) seen.yesterday = await walk(day, form, true)
    }
    const beganMs = clock.monotonic()
    const endMs = beganMs + minutes * 60_000
    let rereadAtMs = beganMs + rereadFirstMs
    for (let isLast = false; !isLast;) {
      tell(`today again, ${Math.ceil((endMs - clock.monotonic()) / 1000)} s left`)
      await clock.sleep(Math.min(watchEveryMs, endMs - clock.monotonic()), signal)
      seen.walks.push(await walk(today, form, false))
      isLast = clock.monotonic() >= endMs || seen.walks.length >= mostWalks
      if (!isLast && clock.monotonic() < rereadAtMs) continue
      await reread(form, first)
      rereadAtMs = beganMs + (rereadAtMs - beganMs) * 2
    }
  } catch (error) {
    const isTold = isFailure(error, 'throttled') || (isFailure(error) && seen.walks.length > 0)
    if (!isTold) throw error
    seen.endedBy = error.code
  }
  return seen
}
