import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Loaded } from '../config/load.ts'
import { zonesOf } from '../config/planned.ts'
import type { SinkConfig } from '../config/schema.ts'
import { dayOf } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { isFailure, messageOf, withoutSink } from '../domain/failure.ts'
import { orAborted, withDeadline } from '../domain/promises.ts'
import type { Zone } from '../domain/stream.ts'
import { counted } from '../domain/text/counts.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { AnySink, Sink } from '../ports/delivery.ts'
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
  const named = accounts.flatMap(({ zones }) => zones).length
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
