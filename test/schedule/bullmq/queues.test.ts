import { expect, it } from 'vitest'
import { createErrorReport } from '../../../src/schedule/bullmq/schedule.ts'
import { streamOfJob } from '../../../src/schedule/bullmq/queues.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { keepInternalEvents } from '../../sinks/internal-events.ts'

it('a job of another program is recognised by its id', () => {
  expect(streamOfJob('101/2026-11-20/a/b')).toEqual({ zone: 101, day: '2026-11-20', sink: 'a/b' })
  for (const other of [undefined, '', '1', '101/2026-02-30/a', '1.5/2026-11-20/a', '101/2026-11-20/'])
    expect(streamOfJob(other)).toBeUndefined()
})

const away = () => Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })

it('the end is reported once, when Redis answers and no error came for ten seconds', async () => {
  const clock = createFakeClock()
  const { internalEvents, telemetry } = keepInternalEvents()
  const { reportError, answered } = createErrorReport({ clock, telemetry }, 'redis')
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
  expect(internalEvents[0]).toMatchObject({ error: { code: 'store_unavailable' } })
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
