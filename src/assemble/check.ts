import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Config, SinkConfig } from '../config/schema.ts'
import { dayOf } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { Zone } from '../domain/stream.ts'
import { orAborted, withDeadline } from '../domain/promises.ts'
import { checkApi, type ApiChecked } from '../maintenance/read/check.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { AnySink, Sink, SinkCheck } from '../ports/delivery.ts'
import { probePort } from '../server/listen.ts'
import { wantsOf } from '../sinks/wants.ts'
import { type AccountZones, explainingZones, listZones } from '../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../discovery/with-zones.ts'
import { heldSinks, type HeldSinks } from './held-sinks.ts'
import { zonesOf } from '../config/planned.ts'
import { openSink } from './shipping.ts'
import { probeStore, workersOn } from './state.ts'
import { openWork, type Work } from './work.ts'

/** What a step found, or why it failed. */
export type Tried<Found> =
  { readonly isWell: true; readonly found: Found } | { readonly isWell: false; readonly why: string }

export interface ApiTried extends ApiChecked {
  /** The configuration with the zones that the API lists. */
  readonly config: Config
  /** What the API lists for accounts that discover their zones. */
  readonly listed: readonly AccountZones[]
}

export interface SinkTried {
  readonly address: string
  readonly check: Tried<SinkCheck | undefined>
  /** Present where a test event was asked for. */
  readonly sent?: Tried<string>
}

/** All tries, begun together; each settles within its bound. None rejects but for `cancelled` and bugs. */
export interface Checks {
  readonly api: Promise<ApiTried>
  /** What a run would warn of. */
  readonly state: Promise<Tried<readonly string[]>>
  readonly port: Promise<Tried<void>>
  readonly sinks: readonly { readonly sink: SinkConfig; readonly tried: Promise<SinkTried> }[]
  /** Sinks to which a run would ship nothing, with the reason. */
  readonly held: Promise<HeldSinks>
  /** The process of this host that ships on the state now, and so has the port. */
  readonly worker: Promise<WorkerStatus | undefined>
}

const stateMs = 15_000
const portMs = 5_000
/** A destination that takes longer than this to answer fails the check. */
const sinkMs = 40_000

/** Tries what a run will do. Leaves nothing behind but a test event, where that is asked for. */
export function startChecks(work: Work, sendTest: boolean, signal: AbortSignal): Checks {
  const { config, runtime } = work
  const { clock } = runtime
  const { host, port } = config.server
  const soon = <Found>(ms: number, doing: () => Promise<Found>) =>
    tryFor(ms, clock, signal, (limited) => orAborted(doing(), limited))
  const state = soon(stateMs, () => probe(config, clock))
  /** Where the state, or what is asked of it, does not answer, the check of the state or of a folder names it. */
  const ofState = async <Found>(doing: () => Promise<Found>): Promise<Found | undefined> => {
    if (!(await state).isWell) return undefined
    const tried = await soon(stateMs, doing)
    return tried.isWell ? tried.found : undefined
  }
  const checks = {
    api: tryApi(work, signal),
    state,
    port: soon(portMs, () => probePort(host, port)),
    // After the state, which removes the folders that it has made: a file sink may have its own in one of them.
    sinks: config.sinks.map((sink) => ({
      sink,
      tried: state.then(() => checkSink(sink, work, sendTest, signal)),
    })),
    held: ofState(() => heldIn(config, signal)).then((held) => held ?? new Map<string, string>()),
    worker: ofState(async () => (await workersOn(config, clock)).find((each) => each.host === hostname())),
  }
  // The command awaits them one after the other: an early one that rejects must not end the process.
  for (const promise of [checks.api, checks.worker, checks.held, ...checks.sinks.map((each) => each.tried)])
    promise.catch(() => undefined)
  return checks
}

/** A Failure is a result, and so is the end of the time; only a stop that was asked for is thrown. */
async function tryFor<Found>(
  ms: number,
  clock: Clock,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Found>,
): Promise<Tried<Found>> {
  try {
    return { isWell: true, found: await withDeadline(ms, signal, clock, work) }
  } catch (error) {
    if (signal.aborted || !isFailure(error)) throw error
    const why = error.code === 'cancelled' ? `no answer within ${ms / 1000} s` : messageOf(error)
    return { isWell: false, why }
  }
}

/** Of an account that discovers its zones, the rest is listed and not read. */
const mostOfAccount = 20

async function tryApi({ config, runtime, reading }: Work, signal: AbortSignal): Promise<ApiTried> {
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

async function heldIn(config: Config, signal: AbortSignal): Promise<HeldSinks> {
  await using work = await openWork(config, { store: 'existing' }, signal)
  return work.hasStore ? await heldSinks(config, work.store) : new Map<string, string>()
}

async function probe(config: Config, clock: Clock): Promise<string[]> {
  const warnings: string[] = []
  const emit: Telemetry['emit'] = (internalEvent) => {
    if (internalEvent.name === 'Warned') warnings.push(internalEvent.text)
  }
  await probeStore(config, clock, { emit })
  return warnings
}

/** Throws only `cancelled`, and bugs. */
async function checkSink(
  config: SinkConfig,
  work: Work,
  sendTest: boolean,
  signal: AbortSignal,
): Promise<SinkTried> {
  const { clock } = work.runtime
  const sink = openSink(config, work.runtime)
  const { address } = sink
  try {
    const check = await tryFor(sinkMs, clock, signal, (limited) => sink.check(limited))
    if (!check.isWell || !sendTest || !isSendable(config, sink)) return { address, check }
    return { address, check, sent: await sendOne(sink, work, signal) }
  } finally {
    await sink.close()
  }
}

/** A test event in a file or on stdout would look like one that was shipped, and both were tried without one. */
function isSendable({ type }: SinkConfig, sink: AnySink): sink is Sink {
  return type !== 'stdout' && 'open' in sink
}

async function sendOne(sink: Sink, { config, runtime }: Work, signal: AbortSignal): Promise<Tried<string>> {
  const nowMs = runtime.clock.now()
  const [zone = { id: 0, name: 'shieldlog-test' }] = zonesOf(config)
  const event = testEvent(zone, nowMs)
  const stream = { zone: zone.id, day: dayOf(nowMs), sink: sink.name }
  const delivery = await tryFor(sinkMs, runtime.clock, signal, async (limited) => {
    // So that a refusal comes back with the answer, and is not taken for an error of the sink.
    const open = await sink.open(stream, { refusalsStand: true }, limited)
    try {
      return await open.deliver([event], limited)
    } finally {
      await open.close()
    }
  })
  if (!delivery.isWell) return delivery
  const { refusals, partial } = delivery.found
  if (refusals.length > 0) return { isWell: false, why: `refused the test event: ${refusals[0]!.answer}` }
  if (partial !== undefined) return { isWell: false, why: messageOf(partial.failure) }
  return { isWell: true, found: `accepted the test event ${event.id}` }
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
