import type { SinkConfig } from '../../config/schema/schema.ts'
import { dayOf } from '../../domain/day.ts'
import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { withDeadline } from '../../domain/within.ts'
import type { Clock } from '../../ports/clock.ts'
import type { AnySink, Sink, SinkCheck } from '../../ports/sink.ts'
import { connectSteps, type ConnectStep } from '../../transport/connect-steps.ts'
import type { QuietRuntime } from '../quiet-runtime.ts'
import { openSink } from '../shipping.ts'
import { testEvent } from './test-event.ts'

export interface SinkTried {
  readonly address: string
  /** What the check found, or why the sink would take nothing. */
  readonly check: SinkCheck | { readonly why: string }
  /** Present where the check of a destination behind a network failed. */
  readonly steps?: readonly ConnectStep[]
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
export async function checkSink(
  config: SinkConfig,
  { runtime, zones, sendTest }: CheckSinkDeps,
  signal: AbortSignal,
): Promise<SinkTried> {
  const sink = openSink(config, runtime)
  const { clock } = runtime
  const { address } = sink
  try {
    const check = await bounded(clock, signal, (limited) => sink.check(limited))
    const url = /^(?:https?|tcp|tls):/.test(address) ? URL.parse(address) : null
    const tls = 'tls' in config ? config.tls : undefined
    if (check instanceof Failure)
      return {
        address,
        check: { why: messageOf(check) },
        ...(url !== null && { steps: await connectSteps(url, tls, clock) }),
      }
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
