import type { AccountConfig, Config } from '../../config/schema.ts'
import { isFailure, type Failure, type FailureCode } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { counted, printable, countOf, countText, firstOf, zoneText } from '../../domain/text/terminal-text.ts'
import type { Work } from '../../assemble/work.ts'
import { unknownZoneWarnings } from '../../config/warnings.ts'
import { explainingZones, listZones, type AccountZones } from '../../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../../discovery/with-zones.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { durationText } from '../../domain/text/time.ts'
import { fewOfAccounts } from '../../days/few-of-accounts.ts'
import { orderOf } from '../../days/follow.ts'
import { wantsOf } from '../../sinks/wants.ts'
import { note, type StepResult, ok, fail } from './result.ts'

/** What reading the first page of today gave for a zone. */
type Outcome = Failure | { tookMs: number; text: string; offsetMs: number | undefined }

/** Of an account that discovers its zones, the rest is listed and not read. */
const mostOfAccount = 20

const askedAtOnce = 8

const mostNamed = 20

const toleratedOffsetMs = 30_000

/** Lists the zones of accounts that discover theirs, and reads first pages of today. Throws only `cancelled`, and bugs. */
export async function checkApi(work: Work, signal: AbortSignal) {
  const { clock } = work.runtime
  const list = listZones(work.reading.clientOf)
  const listed = await list(discoveringIn(work.config), signal)
  const found = new Map(listed.flatMap((each) => ('zones' in each ? [[each.account, each] as const] : [])))
  const config = withZones(work.config, found)
  const source = explainingZones(work.reading.source, list)
  const today = todayOf(clock.now())
  const outcomes = new Map<Zone, Outcome>()
  const filters = config.sinks.flatMap((sink) => {
    const wants = wantsOf(sink)
    return wants === undefined ? [] : [{ sink: sink.name, wants, passed: 0 }]
  })
  let total = 0

  async function ask(zone: Zone): Promise<Failure | undefined> {
    try {
      const beganMs = clock.monotonic()
      const page = await source.fetchPage({ zone, day: today, cursor: null, priority: 'live' }, signal)
      const tookMs = Math.round(clock.monotonic() - beganMs)
      const { clockOffsetMs: offsetMs } = page
      const { events, more } = page.content()
      let newestMs = -Infinity
      // Later pages of a listing in another order may have newer ones.
      if (!more || orderOf({ events }) === 'newest-first')
        for (const { timeMs = -Infinity } of events) newestMs = Math.max(newestMs, timeMs)
      const newestSeconds = Math.max(0, (clock.steady() + (offsetMs ?? 0) - newestMs) / 1000)
      const age = Number.isFinite(newestMs) ? `, newest ${durationText(newestSeconds)} old` : ''
      const rest = more && age === '' ? ', newer ones follow on other pages' : ''
      const text = events.length === 0 ? 'no events yet' : `first page has ${countOf(events.length, 'event')}`
      outcomes.set(zone, { tookMs, text: `today: ${text}${age}${rest}`, offsetMs })
      total += events.length
      for (const filter of filters) filter.passed += events.filter(filter.wants).length
      page.release()
      return undefined
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled') throw error
      outcomes.set(zone, error)
      return error
    }
  }
  await fewOfAccounts(config.accounts.flatMap(askedOf), askedAtOnce, ({ account }) => account, ask)
  const origin = new URL(config.api.baseUrl).origin
  const filterFinding = ({ sink, passed }: (typeof filters)[number]) => {
    const warning = passed > 0 ? '' : '; if this sink is to get such events, correct its where or sample'
    const of = `where and sample: of ${countOf(total, 'event')} on the first pages of today`
    return [sink, [note(`${of} ${countText(passed)} pass${warning}`)]] as const
  }
  // Zones in the settings of sinks that no account lists, where the API decides which zones are shipped.
  const areListed = listed.length > 0 && listed.every((each) => 'zones' in each)
  return {
    findings: [
      ...listed.flatMap((each) => listFindings(config, each)),
      ...config.accounts.flatMap((account) => [...accountFindings(account, origin, outcomes)]),
      ...(areListed ? unknownZoneWarnings(config) : []).map((text) => note(text)),
    ],
    /** How much of what was read the filter of each sink lets through, by the name of the sink. */
    filters: new Map(total === 0 ? [] : filters.map(filterFinding)),
  }
}

function askedOf({ zones, discovery }: AccountConfig): readonly Zone[] {
  return discovery === undefined ? zones : zones.slice(0, mostOfAccount)
}

/**
 * Whether the key is taken, what the first page of today of each zone holds, one problem for the zones that fail for the
 * same reason, and whether this host's clock is right. Zones that were left, since the account does not answer, go with
 * the first reason.
 */
function* accountFindings(
  account: AccountConfig,
  origin: string,
  outcomes: ReadonlyMap<Zone, Outcome>,
): Generator<StepResult> {
  const { name, zones: all } = account
  const asked = askedOf(account).map((zone) => ({ zone, outcome: outcomes.get(zone) }))
  const read = asked.flatMap(({ zone, outcome }) =>
    outcome === undefined || isFailure(outcome) ? [] : [{ zone, ...outcome }],
  )
  if (read.length > 0) {
    const fastest = Math.min(...read.map(({ tookMs }) => tookMs))
    const some =
      read.length === all.length ? '' : `; ${read.length} of ${counted(all.length, 'zone')} can be read`
    yield ok('API', `${origin} accepts the key (account ${name}, ${fastest} ms)${some}`)
  }
  for (const { zone, text } of read.slice(0, mostNamed)) yield ok(zoneStep(zone), text)
  if (read.length > mostNamed) yield ok('', `and ${counted(read.length - mostNamed, 'more zone')}`)
  const failed = asked.flatMap(({ zone, outcome }) =>
    isFailure(outcome) ? [{ text: zoneText(zone.id, zone.name), failure: outcome }] : [],
  )
  let left = asked.length - read.length - failed.length
  for (const group of Map.groupBy(failed, ({ failure }) => failure.code).values()) {
    const isWhole = group.length + left === all.length
    const names = group.map(({ text }) => text)
    const some = `${names.length === 1 ? 'zone' : 'zones'} ${firstOf(names, mostNamed)}`
    const who = isWhole && all.length > 1 ? `all ${all.length} zones` : some
    const why = withRemedy(group[0]!.failure, `event_logs of account ${name}: `, isWhole)
    const rest = left > 0 ? `; ${left} of them were not tried` : ''
    yield fail('API', `account ${name}, ${who}: ${why}${rest}`)
    left = 0
  }
  const { offsetMs = 0 } = read.findLast((each) => each.offsetMs !== undefined) ?? {}
  if (Math.abs(offsetMs) <= toleratedOffsetMs) return
  const how = `${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's`
  yield note(`this host's clock is ${how} (account ${name}); set it, for example by NTP`)
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
}

function withRemedy({ code, message }: Failure, prefix: string, isWhole: boolean): string {
  const isPart = code === 'unauthorised' && !isWhole
  const remedy = isPart ? 'use a key for this account that may read them' : remedies[code]
  return [message.replace(prefix, ''), ...(remedy === undefined ? [] : [remedy])].join('; ')
}

/** What the API lists for an account that discovers its zones. */
function listFindings({ accounts }: Config, listed: AccountZones): StepResult[] {
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
