import { randomUUID } from 'node:crypto'
import type { SinkConfig } from '../../config/schema.ts'
import { dayOf } from '../../domain/day.ts'
import type { Event } from '../../domain/event/event.ts'
import { messageOf, withoutSink } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import type { AnySink, Sink } from '../../ports/delivery.ts'
import { openSink } from '../../assemble/shipping.ts'
import type { Work } from '../../assemble/work.ts'
import { writesObjects } from '../../sinks/stores.ts'
import { type StepResult, ok, note, isFail, fail } from './result.ts'

export type Attempt = (
  step: string,
  ms: number,
  doing: (limited: AbortSignal) => Promise<StepResult[]>,
) => Promise<StepResult[]>

/** A destination that takes longer than this to answer fails the check. */
const sinkMs = 40_000

export async function sinkFindings(
  settings: SinkConfig,
  work: Work,
  sendTest: boolean,
  attempt: Attempt,
): Promise<StepResult[]> {
  const step = sinkStep(settings)
  const sink = openSink(settings, work.runtime)
  const sends = sendTest && isSendable(settings, sink)
  try {
    const tried = await attempt(step, sinkMs, async (limited) => {
      const zones = work.config.zones.map(({ id }) => id)
      const { found, note: told, untested } = (await sink.check(limited, zones)) ?? {}
      const hint = `${untested}; to test with one event`
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

async function sendOne(sink: Sink, { config, runtime }: Work, signal: AbortSignal): Promise<StepResult> {
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

export function sinkStep({ name }: { readonly name: string }): string {
  return `sink ${printable(name)}`
}
