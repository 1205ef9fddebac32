import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createErrorReport } from '../../../src/schedule/bullmq/queue-worker.ts'
import { readJob } from '../../../src/schedule/bullmq/queues.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { keepInternalEvents } from '../../sinks/internal-events.ts'

const id = '101/2026-11-20/archive'
const stream = { zone: 101, day: '2026-11-20', sink: 'archive' }
const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }

describe('a job', () => {
  it.each([
    ['its stream', {}, { stream, isAnew: false }],
    ['that a process tries its stream anew', { isAnew: true, trace }, { stream, isAnew: true, trace }],
    ['its stream without its data, as after an eviction', undefined, { stream, isAnew: false }],
    ['nothing of an invalid trace', { isAnew: 1, trace: { traceparent: 7 } }, { stream, isAnew: false }],
  ])('says %s', (_, data, expected) => {
    expect(readJob(id, data)).toEqual(expected)
  })

  it.each([
    undefined,
    '',
    '1',
    'zone 101',
    '101/2026-02-30/archive',
    '1.5/2026-11-20/archive',
    '101/2026-11-20/',
  ])('of another program is recognised by its id: %s', (other) => {
    expect(readJob(other, { isAnew: true })).toBeUndefined()
  })

  it('is read whatever its data is', () => {
    fc.assert(fc.property(fc.anything(), (data) => readJob(id, data)?.stream.zone === 101))
  })
})

const away = () => Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })

it('the end is reported once, when Redis answers and no error came for ten seconds', async () => {
  const clock = createFakeClock()
  const { internalEvents, telemetry } = keepInternalEvents()
  const { reportError, answered } = createErrorReport({ clock, telemetry, server: 'redis' })
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
