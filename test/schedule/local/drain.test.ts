import { describe, expect, it } from 'vitest'
import { cancelled, Failure } from '../../../src/domain/failure.ts'
import { drain } from '../../../src/schedule/local/drain.ts'
import { createWorkshop, hang, type Workshop } from './workshop.ts'

function run(workshop: Workshop, signal = new AbortController().signal, heartbeat = async () => undefined) {
  return drain(
    {
      clock: workshop.clock,
      plan: () => workshop.plan(),
      pump: (planned, abort) => workshop.pump(planned, abort),
      places: { live: 3, backfill: 0 },
      heartbeat,
    },
    signal,
  )
}

/** Moves time until the drain has ended. */
async function passed<Value>(workshop: Workshop, ended: Promise<Value>): Promise<Value> {
  const over = { is: false }
  ended.finally(() => (over.is = true)).catch(() => undefined)
  for (let turns = 0; !over.is && turns < 20_000; turns++) await workshop.clock.advance(100)
  return ended
}

describe('a drain', () => {
  it('ends when no stream is due, without giving up any', async () => {
    const workshop = createWorkshop()
    workshop.due([1, 2, 3, 4, 5], 0)
    const pumps = new Map<number, number>()
    workshop.work = async ({ stream }, signal) => {
      await workshop.clock.sleep(300, signal)
      const count = (pumps.get(stream.zone) ?? 0) + 1
      pumps.set(stream.zone, count)
      if (count === stream.zone) workshop.due([stream.zone], Infinity)
      return undefined
    }
    expect(await passed(workshop, run(workshop))).toEqual([])
    expect(Object.fromEntries(pumps)).toEqual({ 1: 1, 2: 2, 3: 3, 4: 4, 5: 5 })
    expect([workshop.mostAtOnce, workshop.begun.length]).toEqual([3, 15])
    expect(workshop.clock.sleeping()).toBe(0)
  })

  it('plans many streams a few times, not once for each', async () => {
    const workshop = createWorkshop()
    workshop.due(
      Array.from({ length: 300 }, (_, zone) => zone + 1),
      0,
    )
    await passed(workshop, run(workshop))
    expect(workshop.begun).toHaveLength(300)
    expect(workshop.plans).toBeLessThan(30)
  })

  it('tries a temporary failure four times in a row, and gives up only that stream', async () => {
    const workshop = createWorkshop()
    workshop.due([1, 2], 0)
    workshop.work = async ({ stream }) => {
      if (stream.zone === 1) return new Failure('retry', 'network', 'no route')
      workshop.due([2], Infinity)
      return undefined
    }
    const givenUp = await passed(workshop, run(workshop))
    expect(givenUp).toMatchObject([{ planned: { stream: { zone: 1 } }, reason: 'no route' }])
    expect(workshop.begun.filter((zone) => zone === '1')).toHaveLength(4)
  })

  it('restarts the count when a stream has progressed', async () => {
    const workshop = createWorkshop()
    workshop.due([1], 0)
    let pumps = 0
    workshop.work = async () => {
      if (++pumps === 20) workshop.due([1], Infinity)
      return pumps % 3 === 0 ? undefined : new Failure('retry', 'network', 'no route')
    }
    expect(await passed(workshop, run(workshop))).toEqual([])
    expect(pumps).toBe(20)
  })

  it.each([
    ['what a person must fix', new Failure('stop', 'unauthorised', 'bad key')],
    ['what will always fail', new Failure('refuse', 'zone_gone', 'no such zone')],
    ['a bug', new TypeError('a bug')],
  ])('gives up at once at %s', async (_, error) => {
    const workshop = createWorkshop()
    workshop.due([1], 0)
    workshop.work = () => (error instanceof Failure ? Promise.resolve(error) : Promise.reject(error))
    expect(await passed(workshop, run(workshop))).toMatchObject([{ reason: error.message }])
    expect(workshop.begun).toHaveLength(1)
  })

  it('waits as long as the destination asks, up to a minute; the next run handles longer waits', async () => {
    for (const [waitMs, pumps] of [
      [50_000, 2],
      [61_000, 1],
    ] as const) {
      const workshop = createWorkshop()
      workshop.due([1], 0)
      const began = workshop.clock.now()
      workshop.work = async () => {
        if (workshop.begun.length > 1) workshop.due([1], Infinity)
        else return new Failure('wait', 'throttled', 'slowly', { retryAt: began + waitMs })
        return undefined
      }
      const givenUp = await passed(workshop, run(workshop))
      expect([workshop.begun.length, givenUp.length]).toEqual([pumps, 2 - pumps])
      if (pumps === 2) expect(workshop.clock.now() - began).toBeGreaterThanOrEqual(waitMs)
    }
  })

  it('survives a short failure of the store, and ends with a lasting one after all pumps have ended', async () => {
    const workshop = createWorkshop()
    const { plan } = workshop
    let plans = 0
    const lost = new Failure('retry', 'store_unavailable', 'no disk')
    workshop.due([1], 0)
    workshop.plan = () => (plans++ % 2 === 0 ? Promise.reject(lost) : plan())
    expect(await passed(workshop, run(workshop))).toEqual([])
    workshop.due([1], 0)
    workshop.work = (_, signal) => hang(signal)
    const goesAway = plans + 2
    workshop.plan = () => (plans++ > goesAway ? Promise.reject(lost) : plan())
    await expect(passed(workshop, run(workshop))).rejects.toBe(lost)
    expect([workshop.running.size, workshop.clock.sleeping()]).toEqual([0, 0])
  })

  it('sends heartbeats to the store during a long pump', async () => {
    const workshop = createWorkshop()
    workshop.due([1], 0)
    let heartbeats = 0
    workshop.work = async (_, signal) => {
      await workshop.clock.sleep(60_000, signal)
      workshop.due([1], Infinity)
      return undefined
    }
    await passed(
      workshop,
      run(workshop, undefined, async () => void heartbeats++),
    )
    expect(heartbeats).toBeGreaterThanOrEqual(11)
  })

  it('ends its pumps when it is stopped, and throws', async () => {
    const workshop = createWorkshop()
    workshop.due([1, 2], 0)
    workshop.work = (_, signal) => hang(signal)
    const stop = new AbortController()
    const ended = run(workshop, stop.signal)
    for (let turns = 0; turns < 5; turns++) await workshop.clock.advance(100)
    stop.abort(cancelled())
    await expect(passed(workshop, ended)).rejects.toMatchObject({ code: 'cancelled' })
    expect([workshop.running.size, workshop.clock.sleeping()]).toEqual([0, 0])
  })
})
