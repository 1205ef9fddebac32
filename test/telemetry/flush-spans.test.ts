import { trace, type TracerProvider } from '@opentelemetry/api'
import { afterEach, expect, it } from 'vitest'
import { flushSpans } from '../../src/telemetry/tracing.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

afterEach(() => trace.disable())

/** An SDK, as far as flushing sees one. */
function provide(forceFlush: unknown): void {
  const getTracer = trace.getTracer.bind(trace)
  trace.setGlobalTracerProvider({ getTracer, forceFlush } as TracerProvider)
}

it('requests a flush once, and waits for its end', async () => {
  let asked = 0
  provide(async () => void asked++)
  const clock = createFakeClock()
  await flushSpans(1_000, clock)
  expect([asked, clock.sleeping()]).toEqual([1, 0])
})

it('waits for a collector that does not answer up to a limit', async () => {
  provide(() => new Promise(() => undefined))
  const clock = createFakeClock()
  let isDone = false
  const flushing = flushSpans(1_000, clock).then(() => (isDone = true))
  await clock.advance(999)
  expect(isDone).toBe(false)
  await clock.advance(1)
  await flushing
})

it.each([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  ['rejects', () => Promise.reject(new Error('away'))],
  ['gives no promise', () => 7],
  ['is none', 'forceFlush'],
])('accepts a flush that %s', async (_, forceFlush) => {
  provide(forceFlush)
  await expect(flushSpans(1_000, createFakeClock())).resolves.toBeUndefined()
})

it('does nothing without a recorder', async () => {
  await expect(flushSpans(1_000, createFakeClock())).resolves.toBeUndefined()
})
