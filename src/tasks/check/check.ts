import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Loaded } from '../../config/load.ts'
import type { SinkConfig, AccountConfig, Config } from '../../config/schema.ts'
import { dayOf } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import { isFailure, messageOf, withoutSink, type Failure, type FailureCode } from '../../domain/failure.ts'
import { orAborted, withDeadline } from '../../domain/promises.ts'
import type { Zone } from '../../domain/stream.ts'
import { counted, printable, countOf, countText, firstOf, zoneText } from '../../domain/text/terminal-text.ts'
import type { WorkerStatus } from '../../ports/store.ts'
import type { AnySink, Sink } from '../../ports/delivery.ts'
import { probePort } from '../../server/listen.ts'
import { heldSinks, type HeldSinks } from '../../assemble/held-sinks.ts'
import { openSink } from '../../assemble/shipping.ts'
import { probeStore, stateName, workersOn } from '../../assemble/state.ts'
import { openWork, type Work } from '../../assemble/work.ts'
import { unknownZoneWarnings } from '../../config/warnings.ts'
import { explainingZones, listZones, type AccountZones } from '../../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../../discovery/with-zones.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { durationText } from '../../domain/text/time.ts'
import { fewOfAccounts } from '../../days/few-of-accounts.ts'
import { orderOf } from '../../days/follow.ts'
import { writesObjects } from '../../sinks/stores.ts'
import { wantsOf } from '../../sinks/wants.ts'

interface CheckOptions {
  /** Tries nothing: only the configuration is checked. */
  readonly offline?: boolean
  readonly sendTest?: boolean
}

/**
 * Tries what a run will do, and leaves nothing behind but a test event, where that is asked for. Each try has a bound; the
 * sinks are tried together, after the state, which removes the folders that it has made: a file sink may have its own in
 * one of them. Throws only `cancelled`, and bugs.
 */
export async function* check(
  loaded: Loaded,
  { offline = false, sendTest = false }: CheckOptions,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  yield* configurationFindings(loaded)
  if (offline) return
  await using work = await openWork(loaded.config, {}, signal)
  const { config, runtime } = work
  /** A Failure is a result, and so is the end of the time; only a stop that was asked for is thrown. */
  const attempt: Attempt = async (step, ms, doing) => {
    try {
      const bounded = (limited: AbortSignal) => orAborted(doing(limited), limited)
      return await withDeadline(ms, signal, runtime.clock, bounded)
    } catch (error) {
      if (signal.aborted || !isFailure(error)) throw error
      return [fail(step, error.code === 'cancelled' ? `no answer within ${ms / 1000} s` : messageOf(error))]
    }
  }

  const { findings, filters } = await checkApi(work, signal)
  yield* findings
  const state = await attempt('state', stateMs, () => stateFindings(work))
  yield* state
  let running: WorkerStatus | undefined
  let held: HeldSinks = new Map()
  // Where what is asked of the state does not answer, the check of a folder names it.
  if (!state.some(isFail))
    await attempt('state', stateMs, async () => {
      await using stored = await openWork(config, { store: 'existing' }, signal)
      const workers = await workersOn(config, stored.store, runtime.clock)
      running = workers.find(({ host }) => host === hostname())
      if (stored.hasStore) held = await heldSinks(config, stored.store)
      return []
    })
  if (running !== undefined) yield note(`${running.name} runs on it`)

  const { host, port } = config.server
  const [listening] = await attempt('port', portMs, async () => {
    await probePort(host, port)
    return [ok('port', port === 0 ? 'any free one' : `${host}:${port}`)]
  })
  const isItsOwn = running !== undefined && listening!.text.includes('in use')
  yield isItsOwn ? note(`${host}:${port} is in use; ${running!.name} is running`, 'port') : listening!

  const sinks = config.sinks.map(async (settings) => {
    const why = held.get(settings.name)
    const found =
      why === undefined
        ? await sinkFindings(settings, work, sendTest, attempt)
        : [fail(sinkStep(settings), printable(why, 1_000))]
    return [...found, ...(filters.get(settings.name) ?? [])]
  })
  // They are awaited one after the other: an early one that rejects must not end the process.
  for (const sink of sinks) sink.catch(() => undefined)
  for (const sink of sinks) yield* await sink
}

type Attempt = (
  step: string,
  ms: number,
  doing: (limited: AbortSignal) => Promise<Finding[]>,
) => Promise<Finding[]>

const stateMs = 15_000
const portMs = 5_000
/** A destination that takes longer than this to answer fails the check. */
const sinkMs = 40_000

function configurationFindings({ config, file, overridden, warnings, exposed }: Loaded): Finding[] {
  const { accounts, sinks } = config
  const named = config.zones.length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  const zones = [
    ...(named > 0 || all.length === 0 ? [counted(named, 'zone')] : []),
    ...(all.length === 0 ? [] : [`all zones of account ${all.join(', ')}`]),
  ]
  const found = [...zones, counted(sinks.length, 'sink')].join(', ')
  const notes = [...overridden, ...warnings, ...exposed].map((each) => note(each))
  return [ok('configuration', `${file ?? 'the environment'}; ${found}`), ...notes]
}

async function stateFindings({ config, runtime }: Work): Promise<Finding[]> {
  const warnings: Finding[] = []
  await probeStore(config, runtime.clock, {
    emit: (internalEvent) => {
      if (internalEvent.name === 'Warned') warnings.push(note(internalEvent.text))
    },
  })
  return [ok('state', `${stateName(config)}, opened for writing`), ...warnings]
}

async function sinkFindings(
  settings: SinkConfig,
  work: Work,
  sendTest: boolean,
  attempt: Attempt,
): Promise<Finding[]> {
  const step = sinkStep(settings)
  const sink = openSink(settings, work.runtime)
  const sends = sendTest && isSendable(settings, sink)
  try {
    const tried = await attempt(step, sinkMs, async (limited) => {
      const { found, note: told, untested } = (await sink.check(limited)) ?? {}
      const hint = `${untested}; to test them with one event`
      return [
        ok(step, found === undefined ? sink.address : `${sink.address}, ${found}`),
        ...(told === undefined ? [] : [note(told)]),
        ...(untested === undefined || sends ? [] : [{ ...note(hint), command: 'check --send-test' }]),
      ]
    })
    const found = tried.map((each) => ({ ...each, text: withoutSink(each.text, settings.name) }))
    if (!sends || found.some(isFail)) return found
    return [
      ...found,
      ...(await attempt(sendStep, sinkMs, async (limited) => [await sendOne(sink, work, limited)])),
    ]
  } finally {
    await sink.close()
  }
}

/** A test event in a file, an object or on stdout would look like one that was shipped, and all were tried without one. */
function isSendable(config: SinkConfig, sink: AnySink): sink is Sink {
  return config.type !== 'stdout' && !writesObjects(config) && 'open' in sink
}

const sendStep = '  test event'

async function sendOne(sink: Sink, { config, runtime }: Work, signal: AbortSignal): Promise<Finding> {
  const nowMs = runtime.clock.now()
  const [zone = { id: 0, name: 'shieldlog-test' }] = config.zones
  const event = testEvent(zone, nowMs)
  const stream = { zone: zone.id, day: dayOf(nowMs), sink: sink.name }
  // So that a refusal comes back with the answer, and is not taken for an error of the sink.
  const open = await sink.open(stream, { refusalsStand: true }, signal)
  try {
    const { refusals, partial } = await open.deliver([event], signal)
    if (refusals.length > 0) return fail(sendStep, `refused the test event: ${refusals[0]!.answer}`)
    if (partial !== undefined) return fail(sendStep, messageOf(partial.failure))
    return ok(sendStep, `accepted the test event ${event.id}`)
  } finally {
    await open.close()
  }
}

const message = 'Test event of shieldlog check --send-test: no request was made'

/** An event that cannot be mistaken for traffic: its id, action, rule and message mark it as a test. */
export function testEvent(zone: Pick<Zone, 'id' | 'name'>, nowMs: number): Event {
  const id = `shieldlog-test-${randomUUID()}`
  const time = new Date(nowMs).toISOString()
  const log = { text: message }
  return {
    id,
    time,
    timeMs: nowMs,
    fingerprint: 0n,
    zone: { id: zone.id, name: zone.name },
    action: 'Test',
    severity: 'info',
    rule: { id: 'shieldlog-test', message },
    labels: {},
    log,
    raw: () => ({ logId: id, timestamp: nowMs, log: message, labels: {} }),
  }
}

function sinkStep({ name }: { readonly name: string }): string {
  return `sink ${printable(name)}`
}

/** What `check` found of one step. */
export interface Finding {
  /** What was tried; empty where the finding belongs to the step above, indented for a part of that. */
  readonly step: string
  /** `note`: worth knowing, and no problem. */
  readonly mark: 'ok' | 'note' | 'fail'
  readonly text: string
  /** What to type next, without the name of the program: belongs behind the text. */
  readonly command?: string
}

const ok = (step: string, text: string): Finding => ({ step, mark: 'ok', text })
const fail = (step: string, text: string): Finding => ({ step, mark: 'fail', text })
const note = (text: string, step = ''): Finding => ({ step, mark: 'note', text })
const isFail = ({ mark }: Finding) => mark === 'fail'

/** What reading the first page of today gave for a zone. */
type Outcome = Failure | { tookMs: number; text: string; offsetMs: number | undefined }

/** Of an account that discovers its zones, the rest is listed and not read. */
const mostOfAccount = 20
const askedAtOnce = 8
const mostNamed = 20
const toleratedOffsetMs = 30_000

/** Lists the zones of accounts that discover theirs, and reads first pages of today. Throws only `cancelled`, and bugs. */
async function checkApi(work: Work, signal: AbortSignal) {
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
): Generator<Finding> {
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

function zoneStep({ id, name }: Zone): string {
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
