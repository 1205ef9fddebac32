import { describe, expect, it } from 'vitest'
import { healthOf } from '../../src/server/routes.ts'

const turn = (turnedAtMs: number, loop = 'tick') => ({ loop, turnedAtMs })

describe('health', () => {
  it.each([
    ['a minute', 5, 60_000, true],
    ['no longer', 5, 60_001, false],
    ['three intervals if those are longer', 120, 360_000, true],
    ['no longer than these', 120, 360_001, false],
  ])('lasts %s', (_, everySeconds, nowMs, healthy) => {
    expect(healthOf([turn(0)], everySeconds, nowMs).healthy).toBe(healthy)
  })

  it('needs every loop, and names the one that hangs', () => {
    expect(healthOf([turn(0, 'worker'), turn(90_000)], 30, 100_000)).toEqual({
      healthy: false,
      loops: [
        { loop: 'worker', secondsSinceTurn: 100, healthy: false },
        { loop: 'tick', secondsSinceTurn: 10, healthy: true },
      ],
    })
  })

  it('is given for a process without loops, and for a tick in the future', () => {
    expect(healthOf([], 30, 1e12)).toEqual({ healthy: true, loops: [] })
    expect(healthOf([turn(5000)], 30, 0)).toEqual({
      healthy: true,
      loops: [{ loop: 'tick', secondsSinceTurn: 0, healthy: true }],
    })
  })
})
