import type { Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import { isFailure, type Failure, type FailureCode } from '../../domain/failure.ts'
import { fewAtOnce } from '../../domain/promises.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Source } from '../../ports/delivery.ts'
import { orderOf } from './follow.ts'

interface CheckDeps {
  readonly source: Source
  readonly zones: readonly Zone[]
  /** The day whose first page is requested. */
  readonly today: Day
  readonly clock: Pick<Clock, 'monotonic' | 'steady'>
  /** Filters to try on the pages, by name. */
  readonly filters?: ReadonlyMap<string, (event: Event) => boolean>
}

/** What the first page of today told of a zone. */
export interface ZoneRead {
  readonly zone: Zone
  readonly events: number
  /** Whether pages with other events follow. */
  readonly more: boolean
  /** Age of the newest event; absent where the page has none with a time, and where later pages may have newer ones. */
  readonly newestSeconds?: number
  readonly tookMs: number
}

/** Zones of an account that fail for the same reason. */
export interface ZoneProblem {
  readonly account: string
  readonly failure: Failure
  readonly zones: readonly Zone[]
  /** How many zones were not read, since the reason concerns the whole account. */
  readonly notAsked: number
}

export interface ApiChecked {
  readonly problems: readonly ZoneProblem[]
  readonly read: readonly ZoneRead[]
  /** The API's clock minus this host's, by account. */
  readonly clockOffsets: ReadonlyMap<string, number>
  /** How many events of all these pages pass each filter. */
  readonly passed: ReadonlyMap<string, number>
}

const askedAtOnce = 8

const accountCodes: readonly FailureCode[] = [
  'unauthorised',
  'network',
  'tls',
  'timeout',
  'server_error',
  'throttled',
]

/** After this many failures of a whole account, and no answer, its other items are left. */
const enoughFailures = 3

/**
 * Works on items of accounts, a few at once. `work` resolves to the failure of an item. Those of an account that does not
 * answer would fail for the same reason: they are left, with its first failure. Rejects with the first error.
 */
export async function fewOfAccounts<Item>(
  items: readonly Item[],
  atOnce: number,
  accountOf: (item: Item) => string,
  work: (item: Item) => Promise<Failure | undefined>,
  leave: (item: Item, failure: Failure) => void,
): Promise<void> {
  const answered = new Set<string>()
  const failures = new Map<string, Failure[]>()
  await fewAtOnce(items, atOnce, async (item) => {
    const account = accountOf(item)
    const before = failures.get(account) ?? []
    if (!answered.has(account) && before.length >= enoughFailures) return leave(item, before[0]!)
    const failure = await work(item)
    if (failure === undefined) answered.add(account)
    else if (accountCodes.includes(failure.code))
      failures.set(account, [...(failures.get(account) ?? []), failure])
  })
}

/** Reads the first page of today of every zone. Throws only `cancelled`, and bugs. */
export async function checkApi(
  { source, zones, today, clock, filters = new Map() }: CheckDeps,
  signal: AbortSignal,
): Promise<ApiChecked> {
  const passed = new Map([...filters].map(([name]) => [name, 0]))
  const clockOffsets = new Map<string, number>()
  const read = new Map<Zone, ZoneRead>()
  const failures: { readonly zone: Zone; readonly failure: Failure }[] = []
  const notAsked: Zone[] = []
  async function ask(zone: Zone): Promise<Failure | undefined> {
    try {
      const beganMs = clock.monotonic()
      const page = await source.fetchPage({ zone, day: today, cursor: null, priority: 'live' }, signal)
      const tookMs = Math.round(clock.monotonic() - beganMs)
      const { events, more, clockOffsetMs } = page
      const isNewestHere = !more || orderOf(page) === 'newest-first'
      const newestMs = isNewestHere ? newestOf(events) : -Infinity
      const newestSeconds = Math.max(0, (clock.steady() + (clockOffsetMs ?? 0) - newestMs) / 1000)
      const known = Number.isFinite(newestMs) && { newestSeconds }
      read.set(zone, { zone, tookMs, events: events.length, more, ...known })
      for (const [name, wants] of filters) passed.set(name, passed.get(name)! + events.filter(wants).length)
      page.release()
      if (clockOffsetMs !== undefined) clockOffsets.set(zone.account, clockOffsetMs)
      return undefined
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled') throw error
      failures.push({ zone, failure: error })
      return error
    }
  }
  const accountOf = ({ account }: Zone) => account
  await fewOfAccounts(zones, askedAtOnce, accountOf, ask, (zone) => void notAsked.push(zone))
  const told = new Set<string>()
  const place = new Map(zones.map((zone, index) => [zone, index]))
  failures.sort((one, other) => place.get(one.zone)! - place.get(other.zone)!)
  const groups = Map.groupBy(failures, ({ zone, failure }) => `${zone.account} ${failure.code}`)
  const problems = [...groups.values()].map((group) => {
    const { zone, failure } = group[0]!
    const { account } = zone
    // With the first reason of the account.
    const left = told.has(account) ? [] : notAsked.filter((each) => each.account === account)
    told.add(account)
    return { account, failure, zones: group.map((each) => each.zone), notAsked: left.length }
  })
  return { problems, read: zones.flatMap((zone) => read.get(zone) ?? []), clockOffsets, passed }
}

function newestOf(events: readonly Event[]): number {
  let newestMs = -Infinity
  for (const { timeMs = -Infinity } of events) newestMs = Math.max(newestMs, timeMs)
  return newestMs
}
