import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { abortAtSignal } from '../../src/program/main.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

test.each([
  ['the first signal requests a stop', [['SIGTERM', 0]], []],
  [
    'the same signal within a second of the first counts once, a later one ends the process',
    [
      ['SIGINT', 5],
      ['SIGINT', 900],
      ['SIGINT', 95],
      ['SIGINT', 0],
    ],
    [130],
  ],
  [
    'the other signal ends the process at once',
    [
      ['SIGINT', 0],
      ['SIGTERM', 0],
    ],
    [143],
  ],
] as const)('%s', async (_, signals, ended) => {
  const from = new EventEmitter()
  const clock = createFakeClock()
  const codes: number[] = []
  const signal = abortAtSignal(from, clock, (code) => codes.push(code))
  expect(signal.aborted).toBe(false)
  for (const [name, laterMs] of signals) {
    from.emit(name)
    await clock.advance(laterMs)
  }
  expect([signal.reason, codes]).toEqual([signals[0][0], ended])
})
