import { describe, expect, it } from 'vitest'
import { healthOf } from '../../src/server/routes.ts'

const turn = (turnedAtMs: number, loop = 'tick') => ({ loop, turnedAtMs })

describe('health', () => {
  it('lasts a minute, or three intervals if those are longer', () => {
    expect(healthOf([turn(0)], 5, 60_000).healthy).toBe(true)
    expect(healthOf([turn(0)], 5, 60_001).healthy).toBe(false)
    expect(healthOf([turn(0)], 120, 360_000).healthy).toBe(true)
    expect(healthOf([turn(0)], 120, 360_001).healthy).toBe(false)
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
