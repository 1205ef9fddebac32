import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Loaded } from '../config/load.ts'
import { zonesOf } from '../config/planned.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import { dayOf } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, messageOf, withoutSink } from '../domain/failure.ts'
import { orAborted, withDeadline } from '../domain/promises.ts'
import type { Zone } from '../domain/stream.ts'
import { counted } from '../domain/text/counts.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { AnySink, Sink, SinkCheck } from '../ports/delivery.ts'
import type { Clock } from '../ports/process.ts'
import { probePort } from '../server/listen.ts'
import { checkApi, fail, isFail, note, ok, type Finding } from './check-api.ts'
import { heldSinks, type HeldSinks } from './held-sinks.ts'
import { openSink } from './shipping.ts'
import { probeStore, stateName, workersOn } from './state.ts'
import { openWork, type Work } from './work.ts'

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

function configurationFindings({ config, file, overridden, warnings, exposed }: Loaded): Finding[] {
  const { accounts, sinks } = config
  const named = accounts.flatMap(({ zones }) => zones).length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  const zones = [
    ...(named > 0 || all.length === 0 ? [counted(named, 'zone')] : []),
    ...(all.length === 0 ? [] : [`all zones of account ${all.join(', ')}`]),
  ]
  const found = [...zones, counted(sinks.length, 'sink')].join(', ')
  const notes = [...overridden, ...warnings, ...exposed]
  return [ok('configuration', `${file ?? 'the environment'}; ${found}`), ...notes.map((each) => note(each))]
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

  const api = checkApi(work, signal)
  const state = attempt(
    stateMs,
    (limited) => orAborted(stateFindings(work), limited),
    (why) => [fail('state', why)],
  )
  /** What the state says: the process of this host that ships on it, and so has the port, and the sinks that are held. */
  const known = state.then((found) => {
    const none: KnownOfState = { running: undefined, held: new Map() }
    // Where the state, or what is asked of it, does not answer, the check of the state or of a folder names it.
    return found.some(isFail)
      ? none
      : attempt(
          stateMs,
          (limited) => orAborted(askState(config, clock, signal), limited),
          () => none,
        )
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
      const { running } = why.includes('in use') ? await known : {}
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
    const tries = [state.then(() => trySink(settings)), known, api] as const
    const [found, { held }, { filters }] = await Promise.all(tries)
    const why = held.get(settings.name)
    const filter = filters.get(settings.name)
    return [
      ...(why === undefined ? [] : [fail(sinkStep(settings), printable(why, 1_000))]),
      ...(why === undefined || found.some(isFail) ? found : []),
      ...(filter === undefined ? [] : [filter]),
    ]
  })
  const runs = known.then(({ running }) =>
    running === undefined ? [] : [note(`${running.name} runs on it`)],
  )
  return [api.then(({ findings }) => findings), state, runs, portStep.then((found) => [found]), ...sinks]
}

interface KnownOfState {
  readonly running: WorkerStatus | undefined
  readonly held: HeldSinks
}

async function askState(config: Config, clock: Clock, signal: AbortSignal): Promise<KnownOfState> {
  await using stored = await openWork(config, { store: 'existing' }, signal)
  const { store, hasStore } = stored
  return {
    running: (await workersOn(config, store, clock)).find(({ host }) => host === hostname()),
    held: hasStore ? await heldSinks(config, store) : new Map<string, string>(),
  }
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
