import { expect, it } from 'vitest'
import { createErrorReport } from '../../../src/schedule/bullmq/queue-worker.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { keepInternalEvents } from '../../sinks/internal-events.ts'

const away = () => Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })

function setUp() {
  const clock = createFakeClock()
  const { internalEvents, telemetry } = keepInternalEvents()
  return { clock, internalEvents, ...createErrorReport({ clock, telemetry, server: 'redis' }) }
}

it('an error of the queue is not a failed tick', () => {
  const { internalEvents, reportError } = setUp()
  reportError(away())
  expect(internalEvents).toMatchObject([{ name: 'QueueFailed', error: { code: 'store_unavailable' } }])
})

it('the end is reported once, when Redis answers and no error came for ten seconds', async () => {
  const { clock, internalEvents, reportError, answered } = setUp()
  const names = () => internalEvents.map(({ name }) => name)
  answered()
  expect(names()).toEqual([])
  for (let elapsed = 0; elapsed < 30; elapsed += 3) {
    reportError(away())
    // A full Redis answers, too.
    answered()
    await clock.advance(3_000)
  }
  expect(new Set(names())).toEqual(new Set(['QueueFailed']))
  await clock.advance(10_000)
  expect(names()).not.toContain('QueueRecovered')
  answered()
  answered()
  expect(names().filter((name) => name === 'QueueRecovered')).toEqual(['QueueRecovered'])
  reportError(away())
  await clock.advance(10_000)
  answered()
  expect(names().slice(-3)).toEqual(['QueueRecovered', 'QueueFailed', 'QueueRecovered'])
})
