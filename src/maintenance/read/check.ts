import type { Day } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import { isFailure, type Failure, type FailureCode } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Source } from '../../ports/delivery.ts'
import { orderOf } from './follow.ts'

export interface CheckDeps {
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

/** After this many failures of the whole account, and no answer, its other zones are not read. */
const enoughFailures = 3
const askedAtOnce = 8

const accountCodes: readonly FailureCode[] = [
  'unauthorised',
  'network',
  'tls',
  'timeout',
  'server_error',
  'throttled',
]

/** Whether another zone of the same account would fail for the same reason. */
export function concernsAccount({ code }: Failure): boolean {
  return accountCodes.includes(code)
}

/** Reads the first page of today of every zone. Throws only `cancelled`, and bugs. */
export async function checkApi(deps: CheckDeps, signal: AbortSignal): Promise<ApiChecked> {
  const passed = new Map([...(deps.filters ?? [])].map(([name]) => [name, 0]))
  const found: Found = { clockOffsets: new Map(), read: [], passed }
  const accounts = Map.groupBy(deps.zones, ({ account }) => account)
  const problems = await Promise.all(
    [...accounts.values()].map((zones) => checkAccount(zones, deps, found, signal)),
  )
  const place = new Map(deps.zones.map((zone, index) => [zone.id, index]))
  const read = found.read.toSorted((a, b) => place.get(a.zone.id)! - place.get(b.zone.id)!)
  return { problems: problems.flat(), read, clockOffsets: found.clockOffsets, passed }
}

interface Found {
  readonly clockOffsets: Map<string, number>
  readonly read: ZoneRead[]
  readonly passed: Map<string, number>
}

async function checkAccount(
  zones: readonly Zone[],
  { source, today, clock, filters = new Map() }: CheckDeps,
  { clockOffsets, read, passed }: Found,
  signal: AbortSignal,
): Promise<ZoneProblem[]> {
  const failures: { zone: Zone; failure: Failure }[] = []
  const waiting = [...zones]
  let answered = 0
  const isHopeless = () =>
    answered === 0 && failures.filter(({ failure }) => concernsAccount(failure)).length >= enoughFailures

  async function work(): Promise<void> {
    for (let zone = waiting.shift(); zone !== undefined; zone = waiting.shift()) {
      try {
        const beganMs = clock.monotonic()
        const page = await source.fetchPage({ zone, day: today, cursor: null, priority: 'live' }, signal)
        const tookMs = Math.round(clock.monotonic() - beganMs)
        const { events, more } = page
        const isNewestHere = !more || orderOf(page) === 'newest-first'
        const newestMs = isNewestHere ? newestOf(events) : -Infinity
        const newestSeconds = Math.max(0, (clock.steady() + (page.clockOffsetMs ?? 0) - newestMs) / 1000)
        read.push({
          zone,
          tookMs,
          events: events.length,
          more,
          ...(Number.isFinite(newestMs) && { newestSeconds }),
        })
        for (const [name, wants] of filters)
          passed.set(name, passed.get(name)! + events.filter((event) => wants(event)).length)
        page.release()
        answered++
        if (page.clockOffsetMs !== undefined) clockOffsets.set(zone.account, page.clockOffsetMs)
      } catch (error) {
        if (!isFailure(error) || error.kind === 'cancelled') throw error
        failures.push({ zone, failure: error })
      }
      if (isHopeless()) return
    }
  }

  await Promise.all(Array.from({ length: Math.min(askedAtOnce, zones.length) }, work))
  const groups = [...Map.groupBy(failures, ({ failure }) => failure.code).values()]
  return groups.map((group, index) => ({
    account: group[0]!.zone.account,
    failure: group[0]!.failure,
    zones: group.map(({ zone }) => zone),
    notAsked: index === 0 ? waiting.length : 0,
  }))
}

function newestOf(events: readonly Event[]): number {
  let newestMs = -Infinity
  for (const { timeMs = -Infinity } of events) newestMs = Math.max(newestMs, timeMs)
  return newestMs
}
