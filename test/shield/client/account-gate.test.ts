import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../src/domain/failure.ts'
import type { Priority } from '../../../src/domain/stream.ts'
import { createGate } from '../../../src/shield/client/account-gate.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'

const never = new AbortController().signal

/** A gate, and the requests that passed it, each with its priority and when, in ms since the beginning. */
function gated(maxRequestsPerSecond: number | null = null) {
  const clock = createFakeClock()
  const gate = createGate({ account: 'main', maxRequestsPerSecond }, clock)
  const start = clock.now()
  const passed: string[] = []
  const enter = async (priority: Priority = 'live', signal = never) => {
    await gate.enter(signal, priority)
    passed.push(`${priority} at ${clock.now() - start}`)
  }
  const refused = (priority?: Priority, signal?: AbortSignal) =>
    enter(priority, signal).then(
      () => 'passed',
      (error: unknown) => error,
    )
  return { clock, gate, start, passed, enter, refused }
}

describe('a pause', () => {
  it('holds every request until its end', async () => {
    const { clock, gate, start, passed, enter } = gated()
    await gate.pauseUntil(start + 1500)
    expect(await gate.pausedUntil()).toBe(start + 1500)
    const all = [enter(), enter(), enter()]
    await clock.advance(1500)
    await Promise.all(all)
    expect(passed).toEqual(['live at 1500', 'live at 1500', 'live at 1500'])
    expect(await gate.pausedUntil()).toBeUndefined()
  })

  it('is never shortened, and can be prolonged for waiting requests', async () => {
    const { clock, gate, start, refused } = gated()
    await gate.pauseUntil(start + 1000)
    await gate.pauseUntil(start + 10)
    const entering = refused()
    await clock.advance(500)
    await gate.pauseUntil(start + 60_000)
    await clock.advance(500)
    expect(await entering).toMatchObject({ code: 'throttled', details: { retryAt: start + 60_000 } })
  })

  it('does not grow when the clock of the host is set back', async () => {
    const { clock, gate, enter } = gated()
    await gate.pauseUntil(clock.now() + 30_000)
    clock.jump(-3_600_000)
    expect(await gate.pausedUntil()).toBe(clock.now() + 30_000)
    await clock.advance(30_000)
    expect(await gate.pausedUntil()).toBeUndefined()
    await enter()
  })

  it('ends at once for a caller that stops', async () => {
    const { clock, gate, start, refused } = gated()
    await gate.pauseUntil(start + 1000)
    const stop = new AbortController()
    const entering = refused('live', stop.signal)
    await clock.untilSleeping()
    stop.abort()
    expect(await entering).toMatchObject({ kind: 'cancelled' })
    expect(clock.sleeping()).toBe(0)
    expect(await refused('live', AbortSignal.abort())).toMatchObject({ kind: 'cancelled' })
  })
})

describe('a rate', () => {
  it('spaces requests evenly, and lets one pass at once after a rest', async () => {
    const { clock, passed, enter } = gated(4)
    const all = Array.from({ length: 5 }, () => enter())
    await clock.advance(12_000)
    await Promise.all(all)
    await enter()
    expect(passed).toEqual([0, 250, 500, 750, 1000, 12_000].map((ms) => `live at ${ms}`))
  })

  it('gives rejected requests different times', async () => {
    const { clock, start, refused } = gated(2)
    const outcomes = Array.from({ length: 10 }, async () => {
      const error = await refused()
      return isFailure(error, 'throttled') ? (error.details.retryAt ?? 0) - start : error
    })
    await clock.advance(3000)
    const passed = Array.from({ length: 5 }, () => 'passed')
    expect(await Promise.all(outcomes)).toEqual([...passed, 2500, 3000, 3500, 4000, 4500])
  })

  it('never gives a distant time, however many requests come', async () => {
    const { clock, start, refused } = gated(1)
    const first = [refused(), refused(), refused()]
    for (let index = 0; index < 500; index++) {
      const error = await refused()
      expect(isFailure(error, 'throttled') && error.details.retryAt).toBeLessThanOrEqual(start + 62_000)
    }
    await clock.advance(3000)
    expect(await Promise.all(first)).toEqual(['passed', 'passed', 'passed'])
  })
})

describe('live before backfill', () => {
  it('holds a backfill while a live stream is read, and live requests never', async () => {
    const { clock, gate, passed, enter } = gated()
    await enter('backfill')
    const live = gate.liveBegins()
    const entering = enter('backfill')
    await enter()
    await clock.advance(300)
    live[Symbol.dispose]()
    await clock.advance(50)
    await entering
    expect(passed).toEqual(['backfill at 0', 'live at 0', 'backfill at 350'])
  })

  it('rejects a backfill that would wait for long, until the live stream itself has waited for long', async () => {
    const { clock, gate, enter, refused } = gated()
    using _ = gate.liveBegins()
    const thrown = refused('backfill')
    await clock.advance(2_000)
    expect(await thrown).toMatchObject({ kind: 'cancelled', code: 'gave_way' })
    expect(clock.sleeping()).toBe(0)
    // The live stream waits for a sink that hangs.
    await clock.advance(3_000)
    await enter('backfill')
  })

  it('lets at most every fourth request be one of a backfill while live streams are read', async () => {
    const { clock, gate, passed, enter, refused } = gated()
    using _ = gate.liveBegins()
    const backfill = async () => {
      for (let entered: unknown = 'passed'; ; entered = await refused('backfill'))
        if (entered !== 'passed') return entered
    }
    const backfilling = [backfill(), backfill()]
    for (let request = 0; request < 12; request++) {
      await enter()
      await clock.advance(100)
    }
    const four = ['live', 'live', 'live', 'backfill']
    expect(passed.map((each) => each.split(' ')[0])).toEqual([...four, ...four, ...four, ...four])
    await clock.advance(2_000)
    for (const each of backfilling) expect(await each).toMatchObject({ code: 'gave_way' })
  })

  it('gives the places of a rate to live requests first', async () => {
    const { clock, passed, enter } = gated(2)
    const backfills = [enter('backfill'), enter('backfill')]
    await clock.advance(100)
    const lives = [enter(), enter()]
    await clock.advance(1_900)
    await Promise.all([...lives, ...backfills])
    expect(passed).toEqual(['backfill at 0', 'live at 500', 'live at 1000', 'backfill at 1500'])
  })
})
