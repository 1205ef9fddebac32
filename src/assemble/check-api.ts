import type { Config } from '../config/schema.ts'
import { unknownZoneWarnings } from '../config/warnings.ts'
import { explainingZones, listZones, type AccountZones } from '../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../discovery/with-zones.ts'
import { isFailure, type Failure, type FailureCode } from '../domain/failure.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import type { Zone } from '../domain/stream.ts'
import { counted, countOf, countText, firstOf, zoneText } from '../domain/text/counts.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { durationText } from '../domain/text/time.ts'
import { fewOfAccounts } from '../maintenance/read/few-of-accounts.ts'
import { orderOf } from '../maintenance/read/follow.ts'
import { wantsOf } from '../sinks/wants.ts'
import { fail, note, ok, type Finding } from './finding.ts'
import type { Work } from './work.ts'

/** What reading the first page of today gave for a zone. */
type Outcome = Failure | { readonly tookMs: number; readonly text: string }

interface Asked {
  /** With the zones that the API lists. */
  readonly config: Config
  readonly listed: readonly AccountZones[]
  readonly zones: readonly Zone[]
  /** None for a zone that was left, since its account does not answer. */
  readonly outcomes: ReadonlyMap<Zone, Outcome>
  /** The API's clock minus this host's, by account. */
  readonly clockOffsets: ReadonlyMap<string, number>
}

interface ApiChecked {
  readonly findings: readonly Finding[]
  /** How much of what was read the filter of each sink lets through, by the name of the sink. */
  readonly filters: ReadonlyMap<string, Finding>
}

/** Of an account that discovers its zones, the rest is listed and not read. */
const mostOfAccount = 20
const askedAtOnce = 8
const mostNamed = 20
const toleratedOffsetMs = 30_000

/** Lists the zones of accounts that discover theirs, and reads first pages of today. Throws only `cancelled`, and bugs. */
export async function checkApi(work: Work, signal: AbortSignal): Promise<ApiChecked> {
  const { clock } = work.runtime
  const list = listZones(work.reading.clientOf)
  const listed = await list(discoveringIn(work.config), signal)
  const found = new Map(listed.flatMap((each) => ('zones' in each ? [[each.account, each] as const] : [])))
  const config = withZones(work.config, found)
  const zones = config.accounts.flatMap((account) =>
    account.discovery === undefined ? account.zones : account.zones.slice(0, mostOfAccount),
  )
  const source = explainingZones(work.reading.source, list)
  const today = todayOf(clock.now())
  const outcomes = new Map<Zone, Outcome>()
  const clockOffsets = new Map<string, number>()
  const filters = config.sinks.flatMap((sink) => {
    const wants = wantsOf(sink)
    return wants === undefined ? [] : [{ sink: sink.name, wants, passed: 0 }]
  })

  /** Of the pages that have any events. */
  let [total, pages] = [0, 0]

  async function ask(zone: Zone): Promise<Failure | undefined> {
    try {
      const beganMs = clock.monotonic()
      const page = await source.fetchPage({ zone, day: today, cursor: null, priority: 'live' }, signal)
      const tookMs = Math.round(clock.monotonic() - beganMs)
      const { events, more, clockOffsetMs } = page
      let newestMs = -Infinity
      // Later pages of a listing in another order may have newer ones.
      if (!more || orderOf(page) === 'newest-first')
        for (const { timeMs = -Infinity } of events) newestMs = Math.max(newestMs, timeMs)
      const newestSeconds = Math.max(0, (clock.steady() + (clockOffsetMs ?? 0) - newestMs) / 1000)
      const age = Number.isFinite(newestMs) ? `, newest ${durationText(newestSeconds)} old` : ''
      const rest = more && age === '' ? ', newer ones follow on other pages' : ''
      const text = events.length === 0 ? 'no events yet' : `first page has ${countOf(events.length, 'event')}`
      outcomes.set(zone, { tookMs, text: `today: ${text}${age}${rest}` })
      total += events.length
      if (events.length > 0) pages++
      for (const filter of filters) filter.passed += events.filter(filter.wants).length
      page.release()
      if (clockOffsetMs !== undefined) clockOffsets.set(zone.account, clockOffsetMs)
      return undefined
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled') throw error
      outcomes.set(zone, error)
      return error
    }
  }
  await fewOfAccounts(zones, askedAtOnce, ({ account }) => account, ask)
  const zonesText = pages === 1 ? 'the first page of today' : `the first pages of today (${pages} zones)`
  const filterFinding = ({ sink, passed }: (typeof filters)[number]) => {
    const warning = passed > 0 ? '' : '; if this sink is to get such events, correct its where or sample'
    const of = `where and sample: of ${countOf(total, 'event')} on ${zonesText}`
    return [sink, note(`${of} ${countText(passed)} pass${warning}`)] as const
  }
  return {
    findings: [...findingsOf({ config, listed, zones, outcomes, clockOffsets })],
    filters: new Map(pages === 0 ? [] : filters.map(filterFinding)),
  }
}

/** Per account whether the key is taken, then per zone what the first page of today holds. */
function* findingsOf({ config, listed, zones, outcomes, clockOffsets }: Asked): Generator<Finding> {
  for (const each of listed) yield* listFindings(config, each)
  const origin = new URL(config.api.baseUrl).origin
  const read = zones.flatMap((zone) => {
    const outcome = outcomes.get(zone)
    return outcome === undefined || isFailure(outcome) ? [] : [{ zone, ...outcome }]
  })
  for (const { name, zones: all } of config.accounts) {
    const own = read.filter(({ zone }) => zone.account === name)
    if (own.length === 0) continue
    const fastest = Math.min(...own.map(({ tookMs }) => tookMs))
    const some = `; ${own.length} of ${counted(all.length, 'zone')} can be read`
    const text = `${origin} accepts the key (account ${name}, ${fastest} ms)`
    yield ok('API', own.length === all.length ? text : `${text}${some}`)
  }
  for (const { zone, text } of read.slice(0, mostNamed)) yield ok(zoneStep(zone), text)
  if (read.length > mostNamed) yield ok('', `and ${counted(read.length - mostNamed, 'more zone')}`)
  yield* problemFindings(config, zones, outcomes)
  for (const [account, offsetMs] of clockOffsets) {
    if (Math.abs(offsetMs) <= toleratedOffsetMs) continue
    const how = `${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's`
    yield note(`this host's clock is ${how} (account ${account}); set it, for example by NTP`)
  }
  // Zones in the settings of sinks that no account lists, where the API decides which zones are shipped.
  if (listed.length > 0 && listed.every((each) => 'zones' in each))
    for (const text of unknownZoneWarnings(config)) yield note(text)
}

/** One for the zones of an account that fail for the same reason; zones that were left go with the first reason. */
function* problemFindings(
  { accounts }: Config,
  zones: Asked['zones'],
  outcomes: Asked['outcomes'],
): Generator<Finding> {
  for (const { name: account, zones: all } of accounts) {
    const own = zones.filter((zone) => zone.account === account)
    const failed = own.flatMap((zone) => {
      const failure = outcomes.get(zone)
      return isFailure(failure) ? [{ zone, failure }] : []
    })
    let left = own.filter((zone) => !outcomes.has(zone)).length
    for (const group of Map.groupBy(failed, ({ failure }) => failure.code).values()) {
      const isWhole = group.length + left === all.length
      const names = group.map(({ zone }) => zoneText(zone.id, zone.name))
      const some = `${names.length === 1 ? 'zone' : 'zones'} ${firstOf(names, mostNamed)}`
      const who = isWhole && all.length > 1 ? `all ${all.length} zones` : some
      const why = withRemedy(group[0]!.failure, `event_logs of account ${account}: `, isWhole)
      const rest = left > 0 ? `; ${left} of them were not tried` : ''
      yield fail('API', `account ${account}, ${who}: ${why}${rest}`)
      left = 0
    }
  }
}

export function zoneStep({ id, name }: Zone): string {
  return name === '' || name === String(id) ? `  zone ${id}` : `  zone ${id} ${printable(name, 20)}`
}

/** What to do where the message itself does not say it. */
const remedies: Partial<Record<FailureCode, string>> = {
  network: 'the address is that of api.baseUrl',
  timeout: 'check the network, or raise api.requestTimeoutSeconds',
  tls: 'for the API that is api.tls, or NODE_EXTRA_CA_CERTS',
  bad_body: 'check api.baseUrl: another server answers there',
  rejected: 'check api.baseUrl and api.firstPage',
  window_closed: 'check the clock of this host: the API does not answer for its date',
  page_too_large: 'raise api.maxPageBytes',
  throttled: 'wait, or ask for a higher rate limit',
  server_error: 'try again later',
}

function withRemedy({ code, message }: Failure, prefix: string, isWhole: boolean): string {
  const isPart = code === 'unauthorised' && !isWhole
  const remedy = isPart ? 'use a key for this account that may read them' : remedies[code]
  return [message.replace(prefix, ''), ...(remedy === undefined ? [] : [remedy])].join('; ')
}

/** What the API lists for an account that discovers its zones. */
function listFindings({ accounts }: Config, listed: AccountZones): Finding[] {
  if ('failure' in listed) return [fail('zones', withRemedy(listed.failure, '', true))]
  const { account, zones: all } = listed
  const { discovery, zones } = accounts.find(({ name }) => name === account)!
  const said = `account ${account}: the API lists`
  if (all.length === 0)
    return [fail('zones', `${said} no shield zones; create one, or use the key of another account`)]
  const unknown = (discovery?.exclude ?? []).filter((excluded) => all.every(({ id }) => id !== excluded))
  const left = all.length - zones.length
  const shipped = left === 0 ? '' : `; ${counted(zones.length, 'zone')} of them shipped, ${left} not`
  const why = `account ${account}: zones.exclude contains ${unknown.join(', ')}, which the API does not list`
  return [
    ok('zones', `${said} ${counted(all.length, 'zone')}${shipped}`),
    ...(unknown.length === 0 ? [] : [note(why)]),
  ]
}
