import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { abortAtSignal } from '../../src/commands/main.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

function following() {
  const from = new EventEmitter()
  const clock = createFakeClock()
  const codes: number[] = []
  const signal = abortAtSignal({ from, clock, exit: (code) => codes.push(code) })
  return { from, clock, codes, signal }
}

test('the first signal requests a stop', () => {
  const { from, codes, signal } = following()
  expect(signal.aborted).toBe(false)
  from.emit('SIGTERM')
  expect([signal.aborted, signal.reason]).toEqual([true, 'SIGTERM'])
  expect(codes).toEqual([])
})

test('the same signal within a second of the first counts once, a later one ends the process', async () => {
  const { from, clock, codes, signal } = following()
  from.emit('SIGINT')
  await clock.advance(5)
  from.emit('SIGINT')
  await clock.advance(900)
  from.emit('SIGINT')
  expect([codes, signal.reason]).toEqual([[], 'SIGINT'])
  await clock.advance(95)
  from.emit('SIGINT')
  expect(codes).toEqual([130])
})

test('the other signal ends the process at once', () => {
  const { from, codes } = following()
  from.emit('SIGINT')
  from.emit('SIGTERM')
  expect(codes).toEqual([143])
})
