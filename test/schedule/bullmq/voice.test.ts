import { expect, it } from 'vitest'
import { createVoice } from '../../../src/schedule/bullmq/voice.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { keepHappenings } from '../../sinks/happenings.ts'

it('an error of the queue is no failed turn of the schedule', () => {
  const { happenings, telemetry } = keepHappenings()
  const voice = createVoice({ clock: createFakeClock(), telemetry, server: 'redis' })
  voice(Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }))
  expect(happenings).toMatchObject([{ name: 'QueueFailed', error: { code: 'store_unavailable' } }])
})
