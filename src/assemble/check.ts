import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Loaded } from '../config/load.ts'
import { zonesOf } from '../config/planned.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import { unknownZoneWarnings } from '../config/warnings.ts'
import { explainingZones, listZones, type AccountZones } from '../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../discovery/with-zones.ts'
import { dayOf } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, messageOf, withoutSink, type Failure, type FailureCode } from '../domain/failure.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import { orAborted, withDeadline } from '../domain/promises.ts'
import type { Zone } from '../domain/stream.ts'
import { counted, countOf, countText, firstOf, sumOf, zoneText } from '../domain/text/counts.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { durationText } from '../domain/text/time.ts'
import { checkApi, type ZoneProblem, type ZoneRead } from '../maintenance/read/check.ts'
import type { AnySink, Sink, SinkCheck } from '../ports/delivery.ts'
import { probePort } from '../server/listen.ts'
import { wantsOf } from '../sinks/wants.ts'
import { heldSinks } from './held-sinks.ts'
import { openSink } from './shipping.ts'
import { probeStore, stateName, workersOn } from './state.ts'
import { openWork, type Work } from './work.ts'

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

interface CheckOptions {
  /** Tries nothing: only the configuration is checked. */
  readonly offline?: boolean
  readonly sendTest?: boolean
}

/**
 * Tries what a run will do, and leaves nothing behind but a test event, where that is asked for. All tries begin together;
 * their findings come in the order of the steps, each as soon as it and those before it have ended. Throws only
 * `cancelled`, and bugs.
 */
export async function* check(
  loaded: Loaded,
  { offline = false, sendTest = false }: CheckOptions,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  yield* configurationFindings(loaded)
  if (offline) return
  await using work = await openWork(loaded.config, {}, signal)
  const steps = startSteps(work, sendTest, signal)
  // They are awaited one after the other: an early one that rejects must not end the process.
  for (const step of steps) step.catch(() => undefined)
  for (const step of steps) yield* await step
}

/** The steps that a configuration names, as they stand in its findings. */
export function namedSteps({ accounts, sinks }: Config): string[] {
  return [...accounts.flatMap(({ zones }) => zones).map(zoneStep), ...sinks.map(sinkStep)]
}

function configurationFindings({ config, file, overridden, warnings, exposed }: Loaded): Finding[] {
  const text = `${file ?? 'the environment'}; ${zonesText(config)}, ${counted(config.sinks.length, 'sink')}`
  return [ok('configuration', text), ...[...overridden, ...warnings, ...exposed].map((each) => note(each))]
}

function zonesText({ accounts }: Config): string {
  const named = accounts.flatMap(({ zones }) => zones).length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  const whose = all.length === accounts.length ? 'all zones' : `all zones of ${all.join(', ')}`
  return [
    ...(named > 0 || all.length === 0 ? [counted(named, 'zone')] : []),
    ...(all.length > 0 ? [whose] : []),
  ].join(', ')
}

const stateMs = 15_000
const portMs = 5_000
/** A destination that takes longer than this to answer fails the check. */
const sinkMs = 40_000

/** The findings of each step, in the order of the steps. Each settles within its bound. */
function startSteps(work: Work, sendTest: boolean, signal: AbortSignal): Promise<readonly Finding[]>[] {
  const { config } = work
  const { clock } = work.runtime
  /** A Failure is a result, and so is the end of the time; only a stop that was asked for is thrown. */
  async function attempt<Found>(
    ms: number,
    doing: (limited: AbortSignal) => Promise<Found>,
    otherwise: (why: string) => Found | Promise<Found>,
  ): Promise<Found> {
    try {
      return await withDeadline(ms, signal, clock, doing)
    } catch (error) {
      if (signal.aborted || !isFailure(error)) throw error
      return otherwise(error.code === 'cancelled' ? `no answer within ${ms / 1000} s` : messageOf(error))
    }
  }

  const api = tryApi(work, signal)
  const state = attempt(
    stateMs,
    (limited) => orAborted(stateFindings(work), limited),
    (why) => [fail('state', why)],
  )
  /** Where the state, or what is asked of it, does not answer, the check of the state or of a folder names it. */
  const ofState = async <Found>(none: Found, doing: () => Promise<Found>) =>
    (await state).some(isFail)
      ? none
      : attempt(
          stateMs,
          (limited) => orAborted(doing(), limited),
          () => none,
        )
  /** The process of this host that ships on the state now, and so has the port. */
  const worker = ofState(undefined, async () =>
    (await workersOn(config, clock)).find(({ host }) => host === hostname()),
  )
  const held = ofState<ReadonlyMap<string, string>>(new Map(), async () => {
    await using stored = await openWork(config, { store: 'existing' }, signal)
    return stored.hasStore ? await heldSinks(config, stored.store) : new Map<string, string>()
  })
  const { host, port } = config.server
  const address = `${host}:${port}`
  const portStep = attempt(
    portMs,
    async (limited) => {
      await orAborted(probePort(host, port), limited)
      return ok('port', port === 0 ? 'any free one' : address)
    },
    async (why) => {
      const running = why.includes('in use') ? await worker : undefined
      return running === undefined
        ? fail('port', why)
        : note(`${address} is in use; ${running.name} is running`, 'port')
    },
  )

  async function trySink(settings: SinkConfig): Promise<Finding[]> {
    const step = sinkStep(settings)
    const sink = openSink(settings, work.runtime)
    const sends = sendTest && isSendable(settings, sink)
    try {
      const tried = await attempt(
        sinkMs,
        async (limited) => checkFindings(step, sink.address, sends, await sink.check(limited)),
        (why) => [fail(step, withoutSink(why, settings.name))],
      )
      if (!sends || tried.some(isFail)) return tried
      const sent = await attempt(
        sinkMs,
        (limited) => sendOne(sink, work, limited),
        (why) => fail(sendStep, why),
      )
      return [...tried, sent]
    } finally {
      await sink.close()
    }
  }

  // After the state, which removes the folders that it has made: a file sink may have its own in one of them.
  const sinks = config.sinks.map(async (settings) => {
    const tries = [state.then(() => trySink(settings)), held, api] as const
    const [found, reasons, asked] = await Promise.all(tries)
    const why = reasons.get(settings.name)
    return [
      ...(why === undefined ? [] : [fail(sinkStep(settings), printable(why, 1_000))]),
      ...(why === undefined || found.some(isFail) ? found : []),
      ...filterFindings(asked, settings.name),
    ]
  })
  const running = worker.then((each) => (each === undefined ? [] : [note(`${each.name} runs on it`)]))
  return [api.then(apiFindings), state, running, portStep.then((found) => [found]), ...sinks]
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

function checkFindings(
  step: string,
  address: string,
  sends: boolean,
  { found, note: told, untested }: SinkCheck = {},
): Finding[] {
  return [
    ok(step, found === undefined ? address : `${address}, ${found}`),
    ...(told === undefined ? [] : [note(told)]),
    ...(untested === undefined || sends
      ? []
      : [{ ...note(`${untested}; to test them with one event`), command: 'check --send-test' }]),
  ]
}

/** A test event in a file, an object or on stdout would look like one that was shipped, and all were tried without one. */
function isSendable({ type }: SinkConfig, sink: AnySink): sink is Sink {
  return type !== 'stdout' && type !== 's3' && 'open' in sink
}

const sendStep = '  test event'

async function sendOne(sink: Sink, { config, runtime }: Work, signal: AbortSignal): Promise<Finding> {
  const nowMs = runtime.clock.now()
  const [zone = { id: 0, name: 'shieldlog-test' }] = zonesOf(config)
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

/** Of an account that discovers its zones, the rest is listed and not read. */
const mostOfAccount = 20

async function tryApi({ config, runtime, reading }: Work, signal: AbortSignal) {
  const { clock } = runtime
  const list = listZones(reading.clientOf)
  const listed = await list(discoveringIn(config), signal)
  const found = new Map(listed.flatMap((each) => ('zones' in each ? [[each.account, each] as const] : [])))
  const filled = withZones(config, found)
  const zones = filled.accounts.flatMap((account) =>
    account.discovery === undefined ? account.zones : account.zones.slice(0, mostOfAccount),
  )
  const filters = new Map(
    config.sinks.flatMap((sink) => {
      const wants = wantsOf(sink)
      return wants === undefined ? [] : [[sink.name, wants] as const]
    }),
  )
  const checked = await checkApi(
    { source: explainingZones(reading.source, list), zones, today: todayOf(clock.now()), clock, filters },
    signal,
  )
  return { ...checked, config: filled, listed }
}

type ApiTried = Awaited<ReturnType<typeof tryApi>>

const mostZones = 20
const toleratedOffsetMs = 30_000

/** Per account whether the key is taken, then per zone what the first page of today holds. */
function apiFindings({ config, listed, read, problems, clockOffsets }: ApiTried): Finding[] {
  const more = read.length - mostZones
  // Zones in the settings of sinks that no account lists, where the API decides which zones are shipped.
  const isListed = listed.length > 0 && listed.every((each) => 'zones' in each)
  return [
    ...listed.flatMap((each) => listFindings(config, each)),
    ...accountFindings(config, read),
    ...read.slice(0, mostZones).map(zoneFinding),
    ...(more > 0 ? [ok('', `and ${counted(more, 'more zone')}`)] : []),
    ...problems.map((problem) => problemFinding(config, problem)),
    ...[...clockOffsets].flatMap(clockFindings),
    ...(isListed ? unknownZoneWarnings(config) : []).map((text) => note(text)),
  ]
}

/** How much of what was read the filter of a sink lets through. */
function filterFindings({ read, passed }: ApiTried, sink: string): Finding[] {
  const count = passed.get(sink)
  const total = sumOf(read, 'events')
  if (count === undefined || total === 0) return []
  const zones = read.filter(({ events }) => events > 0).length
  const pages = zones === 1 ? 'the first page of today' : `the first pages of today (${zones} zones)`
  const of = `where and sample: of ${countOf(total, 'event')} on ${pages} ${countText(count)} pass`
  const warning = count > 0 ? '' : '; if this sink is to get such events, correct its where or sample'
  return [note(`${of}${warning}`)]
}

function accountFindings({ api, accounts }: Config, read: readonly ZoneRead[]): Finding[] {
  return accounts.flatMap(({ name, zones }) => {
    const own = read.filter(({ zone }) => zone.account === name)
    if (own.length === 0) return []
    const fastest = Math.min(...own.map(({ tookMs }) => tookMs))
    const text = `${new URL(api.baseUrl).origin} accepts the key (account ${name}, ${fastest} ms)`
    const isWhole = own.length === zones.length
    return [
      ok('API', isWhole ? text : `${text}; ${own.length} of ${counted(zones.length, 'zone')} can be read`),
    ]
  })
}

function zoneFinding({ zone, events, newestSeconds, more }: ZoneRead): Finding {
  const age = newestSeconds === undefined ? '' : `, newest ${durationText(newestSeconds)} old`
  const rest = more && newestSeconds === undefined ? ', newer ones follow on other pages' : ''
  const some = `first page has ${countOf(events, 'event')}${age}${rest}`
  return ok(zoneStep(zone), `today: ${events === 0 ? 'no events yet' : some}`)
}

function zoneStep({ id, name }: Zone): string {
  return name === '' || name === String(id) ? `  zone ${id}` : `  zone ${id} ${printable(name, 20)}`
}

function problemFinding(config: Config, { account, failure, zones, notAsked }: ZoneProblem): Finding {
  const own = config.accounts.find(({ name }) => name === account)?.zones.length ?? 0
  const isWhole = zones.length + notAsked === own
  const names = zones.map(({ id, name }) => zoneText(id, name))
  const some = `${zones.length === 1 ? 'zone' : 'zones'} ${firstOf(names, mostZones)}`
  const rest = notAsked > 0 ? `; ${notAsked} of them were not tried` : ''
  const why = withRemedy(failure, `event_logs of account ${account}: `, isWhole)
  return fail('API', `account ${account}, ${isWhole && own > 1 ? `all ${own} zones` : some}: ${why}${rest}`)
}

function clockFindings([account, offsetMs]: readonly [account: string, offsetMs: number]): Finding[] {
  if (Math.abs(offsetMs) <= toleratedOffsetMs) return []
  const how = `${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's`
  return [note(`this host's clock is ${how} (account ${account}); set it, for example by NTP`)]
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
