import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../src/domain/failure.ts'
import { RequestGate } from '../../../src/shield/client/account-gate.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'

const never = new AbortController().signal

function gated(maxRequestsPerSecond: number | null = null) {
  const clock = createFakeClock()
  return { clock, gate: new RequestGate({ account: 'main', maxRequestsPerSecond }, clock) }
}

/** Requests that enter at once, and when they pass, in ms from now. */
function entering(gate: RequestGate, clock: FakeClock, count: number) {
  const start = clock.now()
  const passedAt: number[] = []
  const all = Array.from({ length: count }, async () => {
    await gate.enter(never, 'live')
    passedAt.push(clock.now() - start)
  })
  return { passedAt, all: Promise.all(all) }
}

describe('a pause', () => {
  it('holds every request until its end', async () => {
    const { clock, gate } = gated()
    const until = clock.now() + 1500
    await gate.pauseUntil(until)
    expect(await gate.pausedUntil()).toBe(until)
    const { passedAt, all } = entering(gate, clock, 3)
    await clock.advance(1499)
    expect(passedAt).toEqual([])
    await clock.advance(1)
    await all
    expect(passedAt).toEqual([1500, 1500, 1500])
    expect(await gate.pausedUntil()).toBeUndefined()
  })

  it('is never shortened, and can be prolonged for waiting requests', async () => {
    const { clock, gate } = gated()
    const start = clock.now()
    await gate.pauseUntil(start + 1000)
    await gate.pauseUntil(start + 10)
    const entering = gate.enter(never, 'live')
    await clock.advance(500)
    await gate.pauseUntil(start + 60_000)
    const thrown = entering.catch((error: unknown) => error)
    await clock.advance(500)
    expect(await thrown).toMatchObject({ code: 'throttled', details: { retryAt: start + 60_000 } })
  })

  it('does not grow when the clock of the host is set back', async () => {
    const { clock, gate } = gated()
    await gate.pauseUntil(clock.now() + 30_000)
    clock.jump(-3_600_000)
    expect(await gate.pausedUntil()).toBe(clock.now() + 30_000)
    await clock.advance(30_000)
    expect(await gate.pausedUntil()).toBeUndefined()
    await gate.enter(never, 'live')
  })

  it('ends at once for a caller that stops', async () => {
    const { clock, gate } = gated()
    await gate.pauseUntil(clock.now() + 1000)
    const stop = new AbortController()
    const entering = gate.enter(stop.signal, 'live')
    await clock.untilSleeping()
    stop.abort()
    await expect(entering).rejects.toMatchObject({ kind: 'cancelled' })
    expect(clock.sleeping()).toBe(0)
    await expect(gate.enter(AbortSignal.abort(), 'live')).rejects.toMatchObject({ kind: 'cancelled' })
  })
})

describe('a rate', () => {
  it('spaces requests evenly', async () => {
    const { clock, gate } = gated(4)
    const { passedAt, all } = entering(gate, clock, 5)
    await clock.advance(2000)
    await all
    expect(passedAt).toEqual([0, 250, 500, 750, 1000])
    await clock.advance(10_000)
    const later = clock.now()
    await gate.enter(never, 'live')
    expect(clock.now()).toBe(later)
  })

  it('gives rejected requests different times', async () => {
    const { clock, gate } = gated(2)
    const start = clock.now()
    const outcomes = Array.from({ length: 10 }, () =>
      gate.enter(never, 'live').then(
        () => 'in',
        (error: unknown) => (isFailure(error, 'throttled') ? (error.details.retryAt ?? 0) - start : error),
      ),
    )
    await clock.advance(3000)
    expect(await Promise.all(outcomes)).toEqual(['in', 'in', 'in', 'in', 'in', 2500, 3000, 3500, 4000, 4500])
  })

  it('never gives a distant time, however many requests come', async () => {
    const { clock, gate } = gated(1)
    const start = clock.now()
    const { all } = entering(gate, clock, 3)
    for (let index = 0; index < 500; index++) {
      const error: unknown = await gate.enter(never, 'live').catch((thrown: unknown) => thrown)
      expect(isFailure(error, 'throttled') && (error.details.retryAt ?? 0) - start).toBeLessThanOrEqual(
        62_000,
      )
    }
    await clock.advance(3000)
    await all
  })
})

describe('live before backfill', () => {
  it('holds a backfill while a live stream is read, and live requests never', async () => {
    const { clock, gate } = gated()
    await gate.enter(never, 'backfill')
    const live = gate.liveBegins()
    const passed: string[] = []
    const entering = gate.enter(never, 'backfill').then(() => passed.push('backfill'))
    await gate.enter(never, 'live')
    await clock.advance(300)
    expect(passed).toEqual([])
    live[Symbol.dispose]()
    await clock.advance(50)
    await entering
    expect(passed).toEqual(['backfill'])
  })

  it('rejects a backfill that would wait for long, until the live stream itself has waited for long', async () => {
    const { clock, gate } = gated()
    using _ = gate.liveBegins()
    const thrown = gate.enter(never, 'backfill').catch((error: unknown) => error)
    await clock.advance(2_000)
    expect(await thrown).toMatchObject({ kind: 'cancelled', code: 'gave_way' })
    expect(clock.sleeping()).toBe(0)
    // The live stream waits for a sink that hangs.
    await clock.advance(3_000)
    await gate.enter(never, 'backfill')
  })

  it('lets at most every fourth request be one of a backfill while live streams are read', async () => {
    const { clock, gate } = gated()
    using _ = gate.liveBegins()
    const order: string[] = []
    const backfill = async () => {
      for (;;) {
        await gate.enter(never, 'backfill')
        order.push('backfill')
      }
    }
    const backfilling = [backfill(), backfill()].map((each) => each.catch((error: unknown) => error))
    for (let request = 0; request < 12; request++) {
      await gate.enter(never, 'live')
      order.push('live')
      await clock.advance(100)
    }
    const four = ['live', 'live', 'live', 'backfill']
    expect(order).toEqual([...four, ...four, ...four, ...four])
    await clock.advance(2_000)
    for (const each of backfilling) expect(await each).toMatchObject({ code: 'gave_way' })
  })

  it('gives a backfill every fourth place where live requests use the whole rate', async () => {
    const { clock, gate } = gated(10)
    const passed = { live: 0, backfill: 0 }
    const over = new AbortController()
    const enter = async (priority: 'live' | 'backfill') => {
      while (!over.signal.aborted)
        await gate.enter(never, priority).then(
          () => void passed[priority]++,
          () => clock.sleep(100, never),
        )
    }
    const entering = [enter('live'), enter('live'), enter('live'), enter('backfill'), enter('backfill')]
    for (let step = 0; step < 600; step++) await clock.advance(50)
    over.abort()
    await clock.advance(3_000)
    await Promise.all(entering)
    expect(passed.backfill).toBeGreaterThan(50)
    expect(passed.live).toBeGreaterThanOrEqual(passed.backfill * 3 - 3)
    expect(passed.live + passed.backfill).toBeGreaterThan(290)
  })

  it('gives the places of a rate to live requests first', async () => {
    const { clock, gate } = gated(2)
    const start = clock.now()
    const passed: string[] = []
    const enter = async (priority: 'live' | 'backfill') => {
      await gate.enter(never, priority)
      passed.push(`${priority} at ${clock.now() - start}`)
    }
    const backfills = [enter('backfill'), enter('backfill')]
    await clock.advance(100)
    const lives = [enter('live'), enter('live')]
    await clock.advance(1_900)
    await Promise.all([...lives, ...backfills])
    expect(passed).toEqual(['backfill at 0', 'live at 500', 'live at 1000', 'backfill at 1500'])
  })
})
