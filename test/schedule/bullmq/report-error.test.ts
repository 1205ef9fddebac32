import { expect, it } from 'vitest'
import { createErrorReport } from '../../../src/schedule/bullmq/report-error.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { keepInternalEvents } from '../../sinks/internal-events.ts'

it('an error of the queue is not a failed tick', () => {
  const { internalEvents, telemetry } = keepInternalEvents()
  const reportError = createErrorReport({ clock: createFakeClock(), telemetry, server: 'redis' })
  reportError(Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }))
  expect(internalEvents).toMatchObject([{ name: 'QueueFailed', error: { code: 'store_unavailable' } }])
})
