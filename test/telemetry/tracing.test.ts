import { context, propagation, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cancelled, Failure } from '../../src/domain/failure.ts'
import { parseDay } from '../../src/domain/day.ts'
import type { SpanFacts } from '../../src/ports.ts'
import { createTickTracing, createTracer } from '../../src/telemetry/tracing.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { registerRecorder, unregisterRecorder, type RecordedSpan } from './span-recorder.ts'

const facts: SpanFacts = { zone: 101, day: parseDay('2026-11-20')!, sink: 'siem', lane: 'live' }
const late = new Failure('retry', 'timeout', 'secret text')
const startMs = Date.parse('2026-11-20T12:00:00Z')

describe('where nobody records', () => {
  it('passes values and errors through', async () => {
    const { span } = createTracer()
    await expect(span('pump', facts, (note) => Promise.resolve(note({ events: 3 })))).resolves.toBe(undefined)
    await expect(span('fetch', facts, () => Promise.resolve(42))).resolves.toBe(42)
    await expect(span('fetch', facts, () => Promise.reject(late))).rejects.toBe(late)
    await expect(
      span('fetch', facts, () => {
        throw new TypeError('at once')
      }),
    ).rejects.toThrow('at once')
  })

  it('carries nothing', async () => {
    const ticks = createTickTracing(createFakeClock())
    expect(ticks.inject()).toEqual({})
    await expect(ticks.tick(() => Promise.resolve(1))).resolves.toBe(1)
    expect(ticks.inject()).toEqual({})
    await expect(ticks.started(() => Promise.resolve(2))).resolves.toBe(2)
    await expect(ticks.within({ traceparent: 'x' }, () => Promise.resolve(3))).resolves.toBe(3)
  })
})

describe('a recorder', () => {
  let spans: RecordedSpan[]

  beforeEach(() => {
    spans = []
    registerRecorder((span) => spans.push(span))
  })
  afterEach(unregisterRecorder)

  const named = (name: string) => spans.filter((span) => span.name === name)

  it('learns facts and outcome, and of a failure nothing but its code', async () => {
    const { span } = createTracer()
    const ended = [
      span('fetch', facts, async (note) => note({ events: 7, unwantedMs: 2 })),
      span('pump', facts, async (note) => note({ outcome: 'bad_body' })),
      span('pump', {}, () => Promise.reject(late)),
      span('pump', {}, () => Promise.reject(new TypeError('secret text'))),
      span('pump', {}, () => Promise.reject(cancelled())),
      span('commit', {}, () => Promise.reject(new Failure('cancelled', 'fence_lost', 'secret text'))),
    ]
    await Promise.allSettled(ended)
    const status = SpanStatusCode.ERROR
    expect(spans.map(({ name, attributes, status }) => ({ name, attributes, status }))).toEqual([
      { name: 'fetch', attributes: { ...facts, events: 7, unwantedMs: 2, outcome: 'ok' }, status: undefined },
      { name: 'pump', attributes: { ...facts, outcome: 'bad_body', 'error.type': 'bad_body' }, status },
      { name: 'pump', attributes: { outcome: 'timeout', 'error.type': 'timeout' }, status },
      { name: 'pump', attributes: { outcome: 'bug', 'error.type': 'bug' }, status },
      { name: 'pump', attributes: { outcome: 'cancelled' }, status: undefined },
      { name: 'commit', attributes: { outcome: 'fence_lost' }, status: undefined },
    ])
    expect(JSON.stringify(spans)).not.toContain('secret')
    expect(new Set(spans.map(({ scope }) => scope))).toEqual(new Set(['shieldlog']))
  })

  it('may be registered after the parts were made', async () => {
    unregisterRecorder()
    const { span } = createTracer()
    const ticks = createTickTracing(createFakeClock())
    registerRecorder((ended) => spans.push(ended))
    await ticks.tick(() => Promise.resolve())
    await ticks.started(() => span('pump', facts, () => Promise.resolve()))
    expect(spans.map(({ name }) => name)).toEqual(['tick', 'pump'])
  })

  it('sees what runs inside of what, over awaits and side by side', async () => {
    const { span } = createTracer()
    const pump = (zone: number) =>
      span('pump', { zone }, async () => {
        const ahead = span('fetch', { zone }, () => new Promise((resolve) => setImmediate(resolve)))
        await span('deliver', { zone }, () => Promise.resolve())
        await span('commit', { zone }, () => Promise.resolve())
        await ahead
      })
    await Promise.all([pump(1), pump(2)])
    for (const zone of [1, 2]) {
      const own = spans.filter(({ attributes }) => attributes['zone'] === zone)
      const parent = own.find(({ name }) => name === 'pump')!
      expect(new Set(own.map(({ traceId }) => traceId))).toEqual(new Set([parent.traceId]))
      expect(own.filter(({ parentId }) => parentId === parent.spanId)).toHaveLength(3)
    }
    expect(named('pump')[0]?.traceId).not.toBe(named('pump')[1]?.traceId)
  })

  it('finds one tick above all that it started, and none above what started nothing', async () => {
    const { span } = createTracer()
    const clock = createFakeClock(startMs)
    const ticks = createTickTracing(clock)
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

  it('finds the same trace behind a carrier, and a new one behind a carrier that says nothing', async () => {
    const { span } = createTracer()
    const here = createTickTracing(createFakeClock())
    const there = createTickTracing(createFakeClock())
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
  })
})

describe('a recorder that fails', () => {
  afterEach(unregisterRecorder)

  const fail = (): never => {
    throw new Error('the recorder is broken')
  }

  it('while spans are made stops nothing', async () => {
    registerRecorder(() => undefined)
    trace.disable()
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: fail, startActiveSpan: fail }) })
    await everythingWorks()
  })

  it('while spans end stops nothing', async () => {
    registerRecorder(fail)
    await everythingWorks()
  })

  it('while traces are carried stops nothing', async () => {
    registerRecorder(() => undefined)
    propagation.disable()
    propagation.setGlobalPropagator({ inject: fail, extract: fail, fields: () => [] })
    await everythingWorks()
  })

  async function everythingWorks(): Promise<void> {
    const { span } = createTracer()
    const ticks = createTickTracing(createFakeClock())
    await ticks.tick(() => Promise.resolve())
    const carrier = ticks.inject()
    const work = () =>
      ticks.within(carrier, () =>
        span('pump', facts, async (note) => {
          note({ events: 1 })
          return 'done'
        }),
      )
    await expect(ticks.started(work)).resolves.toBe('done')
    await expect(span('commit', facts, () => Promise.reject(late))).rejects.toBe(late)
    expect(context.active()).toBe(ROOT_CONTEXT)
  }
})
