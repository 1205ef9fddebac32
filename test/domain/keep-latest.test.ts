import { expect, test } from 'vitest'
import { keepLatest } from '../../src/domain/promises.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

function slow() {
  const clock = createFakeClock()
  const answers: PromiseWithResolvers<number>[] = []
  const latest = keepLatest(
    () => {
      const answer = Promise.withResolvers<number>()
      answers.push(answer)
      return answer.promise
    },
    2_000,
    clock,
  )
  return { clock, latest, answers }
}

test('one reading serves all who ask while the store is slow, and for a while after', async () => {
  const { clock, latest, answers } = slow()
  const asked = [latest.read()]
  await clock.advance(10_000)
  asked.push(latest.read())
  answers[0]!.resolve(1)
  expect(await Promise.all(asked)).toEqual([1, 1])
  await clock.advance(1_999)
  latest.dropOld()
  expect(await latest.read()).toBe(1)
  await clock.advance(1)
  void latest.read()
  expect(answers).toHaveLength(2)
})

test('a reading that fails or hangs is repeated', async () => {
  const { clock, latest, answers } = slow()
  const failing = latest.read()
  answers[0]!.reject(new Error('the store is away'))
  await expect(failing).rejects.toThrow('the store is away')
  await clock.advance(2_001)
  void latest.read()
  await clock.advance(15_001)
  void latest.read()
  expect(answers).toHaveLength(3)
})
