import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type TracerProvider,
} from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { cancelled, Failure } from '../../src/domain/failure.ts'
import { parseDay } from '../../src/domain/day.ts'
import type { SpanFacts } from '../../src/ports/process.ts'
import { createTickTracing, createTracer, flushSpans } from '../../src/telemetry/tracing.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { registerRecorder, unregisterRecorder, type RecordedSpan } from './span-recorder.ts'

const facts: SpanFacts = { zone: 101, day: parseDay('2026-11-20')!, sink: 'siem', priority: 'live' }
const told = {
  'shieldlog.zone': 101,
  'shieldlog.day': '2026-11-20',
  'shieldlog.sink': 'siem',
  'shieldlog.priority': 'live',
}
const late = new Failure('retry', 'timeout', 'secret text')
/** The SDK takes a time before the start of the process for one of the monotonic clock. */
const startMs = Date.parse('2126-11-20T12:00:00Z')

it('without a recorder values and errors pass through, and a carrier gets no trace', async () => {
  const { span } = createTracer('1.2.3')
  const ticks = createTickTracing(createFakeClock(), '1.2.3')
  await expect(span('fetch', facts, async (note) => (note({ events: 3 }), 42))).resolves.toBe(42)
  await expect(span('fetch', facts, () => Promise.reject(late))).rejects.toBe(late)
  await ticks.tick(() => Promise.resolve())
  expect(ticks.inject()).toEqual({})
  await expect(ticks.within({ traceparent: 'x' }, () => Promise.resolve(3))).resolves.toBe(3)
})

describe('a recorder', () => {
  let spans: RecordedSpan[]

  beforeEach(() => {
    spans = []
    registerRecorder((span) => spans.push(span))
  })
  afterEach(unregisterRecorder)

  const named = (name: string) => spans.filter((span) => span.name === name)

  it('gets facts and outcome, and only the code of a failure', async () => {
    const { span } = createTracer('1.2.3')
    const ended = [
      span('fetch', facts, async (note) => note({ events: 7 })),
      span('pump', facts, async (note) => note({ outcome: 'bad_body' })),
      span('pump', {}, () => Promise.reject(late)),
      span('pump', {}, () => Promise.reject(new TypeError('secret text'))),
      span('pump', {}, () => Promise.reject(cancelled())),
      span('commit', {}, () => Promise.reject(new Failure('cancelled', 'fence_lost', 'secret text'))),
    ]
    await Promise.allSettled(ended)
    const status = SpanStatusCode.ERROR
    const outcome = (code: string) => ({ 'shieldlog.outcome': code })
    const error = (code: string) => ({ ...outcome(code), 'error.type': code })
    expect(spans.map(({ name, attributes, status }) => [name, attributes, status])).toEqual([
      ['fetch', { ...told, 'shieldlog.events': 7, ...outcome('ok') }, undefined],
      ['pump', { ...told, ...error('bad_body') }, status],
      ['pump', error('timeout'), status],
      ['pump', error('bug'), status],
      ['pump', outcome('cancelled'), undefined],
      ['commit', outcome('fence_lost'), undefined],
    ])
    expect(JSON.stringify(spans)).not.toContain('secret')
    expect(new Set(spans.map(({ scope }) => scope))).toEqual(new Set(['shieldlog']))
    expect(new Set(spans.map(({ version }) => version))).toEqual(new Set(['1.2.3']))
  })

  it('gets the steps that call another party, with only host and port of its address', async () => {
    const { span } = createTracer('1.2.3')
    const attributesOf = async (server: string) => {
      await span('deliver', { server }, () => Promise.resolve())
      const { kind, attributes } = spans.at(-1)!
      expect(kind).toBe(SpanKind.CLIENT)
      return [attributes['server.address'], attributes['server.port']]
    }
    expect(await attributesOf('https://siem.example/secret?token=secret')).toEqual(['siem.example', 443])
    expect(await attributesOf('http://127.0.0.1:8088')).toEqual(['127.0.0.1', 8088])
    expect(await attributesOf('/var/lib/secret')).toEqual([undefined, undefined])
    expect(await attributesOf('stdout')).toEqual([undefined, undefined])
    await span('fetch', { server: 'https://api.example' }, () => Promise.resolve())
    await span('commit', {}, () => Promise.resolve())
    expect(spans.slice(-2).map(({ kind }) => kind)).toEqual([SpanKind.CLIENT, SpanKind.INTERNAL])
    expect(JSON.stringify(spans)).not.toContain('secret')
  })

  it('gets one tick as the parent of all that it started', async () => {
    const { span } = createTracer('1.2.3')
    const clock = createFakeClock(startMs)
    const ticks = createTickTracing(clock, '1.2.3')
    await ticks.tick(() => Promise.resolve())
    await clock.advance(1000)
    await ticks.tick(() => clock.advance(200))
    const pump = (zone: number) => ticks.started(() => span('pump', { zone }, () => Promise.resolve()))
    await Promise.all([pump(1), pump(2)])
    await ticks.tick(() => Promise.resolve())
    await expect(ticks.tick(() => Promise.reject(late))).rejects.toBe(late)
    await pump(3)
    expect(named('tick').map(({ startTime, parentId }) => ({ startTime, parentId }))).toEqual([
      { startTime: startMs + 1000, parentId: undefined },
      { startTime: startMs + 1200, parentId: undefined },
    ])
    const [first, second] = named('tick')
    expect(named('pump').map(({ parentId }) => parentId)).toEqual([
      first!.spanId,
      first!.spanId,
      second!.spanId,
    ])
  })

  it('continues the trace of a carrier, and begins a new one for an empty carrier', async () => {
    const { span } = createTracer('1.2.3')
    const here = createTickTracing(createFakeClock(), '1.2.3')
    const there = createTickTracing(createFakeClock(), '1.2.3')
    await here.tick(() => Promise.resolve())
    const carrier = JSON.parse(JSON.stringify(here.inject())) as Record<string, string>
    expect(here.inject()).toEqual(carrier)
    // The queue is read inside of other work, which is none of this trace's business.
    const pump = () => span('pump', {}, () => Promise.resolve())
    await span('fetch', {}, () => there.within(carrier, pump))
    await there.within({}, pump)
    await there.within({ traceparent: '../../etc/passwd' }, pump)
    const [tick] = named('tick')
    const [carried, ...lost] = named('pump')
    expect(named('tick')).toHaveLength(1)
    expect(carried).toMatchObject({ traceId: tick?.traceId, parentId: tick?.spanId, isParentRemote: true })
    expect(lost.map(({ parentId }) => parentId)).toEqual([undefined, undefined])
    expect(tick?.kind).toBe(SpanKind.PRODUCER)
    expect(named('pump').map(({ kind }) => kind)).toEqual(Array(3).fill(SpanKind.CONSUMER))
  })
})

const fail = (): never => {
  throw new Error('the recorder is broken')
}
const nothing = { startSpan: fail, startActiveSpan: fail }

it.each<[string, () => void]>([
  ['spans are created', () => void trace.setGlobalTracerProvider({ getTracer: () => nothing })],
  ['spans end', () => registerRecorder(fail)],
  [
    'traces are passed on',
    () => void propagation.setGlobalPropagator({ inject: fail, extract: fail, fields: () => [] }),
  ],
])('a recorder that fails while %s stops nothing', async (_, breakIt) => {
  breakIt()
  onTestFinished(unregisterRecorder)
  const { span } = createTracer('1.2.3')
  const ticks = createTickTracing(createFakeClock(), '1.2.3')
  await ticks.tick(() => Promise.resolve())
  const pump = () => span('pump', facts, async (note) => (note({ events: 1 }), 'done'))
  await expect(ticks.started(() => ticks.within(ticks.inject(), pump))).resolves.toBe('done')
  await expect(span('commit', facts, () => Promise.reject(late))).rejects.toBe(late)
  expect(context.active()).toBe(ROOT_CONTEXT)
})

it('at its end a process requests a flush once, waits for it up to a limit, and accepts one that fails', async () => {
  onTestFinished(() => trace.disable())
  const clock = createFakeClock()
  const getTracer = trace.getTracer.bind(trace)
  /** An SDK, as far as flushing sees one. */
  const flushWith = (forceFlush: unknown) => {
    trace.disable()
    trace.setGlobalTracerProvider({ getTracer, forceFlush } as TracerProvider)
    return flushSpans(1_000, clock)
  }
  let asked = 0
  await flushWith(async () => asked++)
  expect(asked).toBe(1)
  const hanging = flushWith(() => new Promise(() => undefined))
  expect(clock.sleeping()).toBe(1)
  await clock.advance(1_000)
  await hanging
  for (const failing of [fail, () => Promise.reject(new Error('away')), 'forceFlush'])
    await expect(flushWith(failing)).resolves.toBeUndefined()
})
