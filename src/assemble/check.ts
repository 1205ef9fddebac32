import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Config, SinkConfig } from '../config/schema.ts'
import { dayOf } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, messageOf, Failure } from '../domain/failure.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { Zone } from '../domain/stream.ts'
import { within, withDeadline } from '../domain/promises.ts'
import { checkApi, type ApiChecked } from '../maintenance/read/check.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { AnySink, Sink, SinkCheck } from '../ports/delivery.ts'
import { probePort } from '../server/listen.ts'
import { wantsOf } from '../sinks/wants.ts'
import { type AccountZones, explainingZones, listZones } from '../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../discovery/with-zones.ts'
import { heldSinks, type HeldSinks } from './held-sinks.ts'
import { zonesOf } from '../config/planned.ts'
import { createQuietRuntime, type QuietRuntime } from './quiet-runtime.ts'
import { createReading, type Reading } from './reading.ts'
import { openSink } from './shipping.ts'
import { probeStore, workersOn } from './state.ts'
import { openWork } from './work.ts'

/** Why a step failed, or what it found. */
export type Tried =
  { readonly isWell: true; readonly found?: string } | { readonly isWell: false; readonly why: string }

/** `warnings`: what a run would warn of. */
export type StateTried = Tried & { readonly warnings: readonly string[] }

export interface ApiTried extends ApiChecked {
  /** The configuration with the zones that the API lists. */
  readonly config: Config
  /** What the API lists for accounts that discover their zones. */
  readonly listed: readonly AccountZones[]
}

/** All tries, begun together; each settles within its bound. None rejects but for `cancelled` and bugs. */
export interface Checks {
  readonly api: Promise<ApiTried>
  readonly state: Promise<StateTried>
  readonly port: Promise<Tried>
  readonly sinks: readonly { readonly sink: SinkConfig; readonly tried: Promise<SinkTried> }[]
  /** Sinks to which a run would ship nothing, with the reason. */
  readonly held: Promise<HeldSinks>
  /** The process of this host that ships on the state now, and so has the port. */
  readonly worker: Promise<WorkerStatus | undefined>
  close(): Promise<void>
}

const stateMs = 15_000
const portMs = 5_000

/** Tries what a run will do. Leaves nothing behind but a test event, where that is asked for. */
export function startChecks(config: Config, sendTest: boolean, signal: AbortSignal): Checks {
  const runtime = createQuietRuntime()
  const { clock } = runtime
  const reading = createReading(config, runtime)
  const zones = zonesOf(config)
  const api = tryApi(config, { runtime, reading }, signal)
  const state = tryState(config, clock)
  const { host, port } = config.server
  const checks = {
    api,
    state,
    port: tried(portMs, clock, () => probePort(host, port)),
    // After the state, which removes the folders that it has made: a file sink may have its own in one of them.
    sinks: config.sinks.map((sink) => ({
      sink,
      tried: state.then(() => checkSink(sink, { runtime, zones, sendTest }, signal)),
    })),
    held: state.then(async ({ isWell }) =>
      isWell ? heldIn(config, clock, signal) : new Map<string, string>(),
    ),
    worker: state.then(async ({ isWell }) => (isWell ? workerHere(config, clock) : undefined)),
  }
  // The command awaits them one after the other: an early one that rejects must not end the process.
  for (const promise of [checks.api, checks.worker, checks.held, ...checks.sinks.map((each) => each.tried)])
    promise.catch(() => undefined)
  return { ...checks, close: () => reading.close() }
}

/** Of an account that discovers its zones, the rest is listed and not read. */
const mostOfAccount = 20

async function tryApi(
  config: Config,
  { runtime, reading }: { readonly runtime: QuietRuntime; readonly reading: Reading },
  signal: AbortSignal,
): Promise<ApiTried> {
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

async function heldIn(config: Config, clock: Clock, signal: AbortSignal): Promise<HeldSinks> {
  const look = async () => {
    await using work = await openWork(config, { store: 'existing' }, signal)
    return work.hasStore ? await heldSinks(config, work.store) : new Map<string, string>()
  }
  const answer = await within(stateMs, look(), clock).catch((error: unknown) => {
    // The check of the state, or of the folder, names it.
    if (isFailure(error)) return 'late' as const
    throw error
  })
  return answer === 'late' ? new Map() : answer.value
}

async function workerHere(config: Config, clock: Clock): Promise<WorkerStatus | undefined> {
  const answer = await within(stateMs, workersOn(config, clock), clock).catch(() => 'late' as const)
  return answer === 'late' ? undefined : answer.value.find(({ host }) => host === hostname())
}

async function tryState(config: Config, clock: Clock): Promise<StateTried> {
  const warnings: string[] = []
  const emit: Telemetry['emit'] = (internalEvent) => {
    if (internalEvent.name === 'Warned') warnings.push(internalEvent.text)
  }
  return { ...(await tried(stateMs, clock, () => probeStore(config, clock, { emit }))), warnings }
}

async function tried(ms: number, clock: Clock, work: () => Promise<void>): Promise<Tried> {
  try {
    const done = await within(ms, Promise.resolve().then(work), clock)
    return done === 'late' ? { isWell: false, why: `no answer within ${ms / 1000} s` } : { isWell: true }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { isWell: false, why: messageOf(error) }
  }
}

export interface SinkTried {
  readonly address: string
  /** What the check found, or why the sink would take nothing. */
  readonly check: SinkCheck | { readonly why: string }
  /** Present where a test event was asked for. */
  readonly sent?: { readonly id: string; readonly isWell: boolean; readonly text: string }
}

interface CheckSinkDeps {
  readonly runtime: QuietRuntime
  readonly zones: readonly Zone[]
  readonly sendTest: boolean
}

/** A destination that takes longer than this to answer fails the check. */
const sinkMs = 40_000

/** Throws only `cancelled`, and bugs. */
async function checkSink(
  config: SinkConfig,
  { runtime, zones, sendTest }: CheckSinkDeps,
  signal: AbortSignal,
): Promise<SinkTried> {
  const sink = openSink(config, runtime)
  const { clock } = runtime
  const { address } = sink
  try {
    const check = await bounded(clock, signal, (limited) => sink.check(limited))
    if (check instanceof Failure) return { address, check: { why: messageOf(check) } }
    if (!sendTest || !isSendable(config, sink)) return { address, check: check ?? {} }
    return { address, check: check ?? {}, sent: await sendOne(sink, { clock, zones }, signal) }
  } finally {
    await sink.close()
  }
}

/** A test event in a file or on stdout would look like one that was shipped, and both were tried without one. */
function isSendable({ type }: SinkConfig, sink: AnySink): sink is Sink {
  return type !== 'stdout' && 'open' in sink
}

async function sendOne(
  sink: Sink,
  { clock, zones }: { readonly clock: Clock; readonly zones: readonly Zone[] },
  signal: AbortSignal,
): Promise<NonNullable<SinkTried['sent']>> {
  const nowMs = clock.now()
  const [zone = { id: 0, name: 'shieldlog-test' }] = zones
  const event = testEvent(zone, nowMs)
  const { id } = event
  const stream = { zone: zone.id, day: dayOf(nowMs), sink: sink.name }
  const delivery = await bounded(clock, signal, async (limited) => {
    // So that a refusal comes back with the answer, and is not taken for an error of the sink.
    const open = await sink.open(stream, { refusalsStand: true }, limited)
    try {
      return await open.deliver([event], limited)
    } finally {
      await open.close()
    }
  })
  if (delivery instanceof Failure) return { id, isWell: false, text: messageOf(delivery) }
  const [refusal] = delivery.refusals
  if (refusal !== undefined) return { id, isWell: false, text: `refused the test event: ${refusal.answer}` }
  const { partial } = delivery
  return partial === undefined
    ? { id, isWell: true, text: `accepted the test event ${id}` }
    : { id, isWell: false, text: messageOf(partial.failure) }
}

/** The Failure is a result; only a stop that was asked for is thrown. */
async function bounded<Value>(
  clock: Clock,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | Failure> {
  try {
    return await withDeadline(sinkMs, signal, clock, work)
  } catch (error) {
    if (signal.aborted || !isFailure(error)) throw error
    if (error.code !== 'cancelled') return error
    return new Failure('retry', 'timeout', `no answer within ${sinkMs / 1000} s`)
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
