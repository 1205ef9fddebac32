import { expect, test } from 'vitest'
import { shiftDay } from '../../src/domain/day.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf } from './stage.ts'

test('an entry that is listed under two days is shipped once for each', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf([eventAt(1), eventAt(2)], 10)
  const yesterday = { ...stream, day: shiftDay(stream.day, -1) }
  for (let turn = 0; turn < 2; turn++) {
    await stage.pump()
    await stage.pump({ stream: yesterday })
    await stage.clock.advance(3_600_000)
  }
  expect(stage.requests()).toBeGreaterThan(2)
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e1', 'e2', 'e1', 'e2'])
})
