import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../../src/domain/failure.ts'
import { LocalSchedule } from '../../../src/schedule/local/schedule.ts'
import { createWorkshop, hang, type Workshop } from './workshop.ts'

interface Watched {
  turns: number
  heartbeats: number
  housekeeps: number
  /** Housekeeping is to be asked again. */
  isTooEarly: boolean
  heartbeat: () => Promise<void>
}

function createWatched(workshop: Workshop, streams = 3, backfillStreams = 1) {
  const watched: Watched = {
    turns: 0,
    heartbeats: 0,
    housekeeps: 0,
    isTooEarly: false,
    heartbeat: async () => undefined,
  }
  const schedule = new LocalSchedule({
    clock: workshop.clock,
    telemetry: { emit: (internalEvent) => void workshop.internalEvents.push(internalEvent) },
    plan: () => workshop.plan(),
    pump: (planned, signal) => workshop.pump(planned, signal),
    places: { live: streams, backfill: backfillStreams },
    heartbeat: async () => {
      watched.heartbeats++
      await watched.heartbeat()
    },
    housekeep: async () => {
      watched.housekeeps++
      return !watched.isTooEarly
    },
    turned: () => void watched.turns++,
    now: () => workshop.clock.now(),
  })
  return { schedule, watched }
}

/** Lets time go by in small steps, so that whatever is woken does its work. */
async function passTime({ clock }: Workshop, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) await clock.advance(250)
}

function slowPlan(ms: number): Workshop {
  const workshop = createWorkshop()
  const { plan } = workshop
  workshop.plan = async () => {
    const planned = await plan()
    await workshop.clock.sleep(ms, new AbortController().signal)
    return planned
  }
  return workshop
}

async function expectEachPumpedOnce(workshop: Workshop, zones: readonly string[]): Promise<void> {
  const { schedule } = createWatched(workshop)
  await schedule.start()
  await passTime(workshop, 20_000)
  expect(workshop.begun).toEqual(zones)
  const stopped = schedule.stop()
  // A plan that was begun is waited for.
  await passTime(workshop, 2_000)
  await stopped
}

describe('the timers of the local schedule', () => {
  it('never run two pumps of one stream, nor more pumps than allowed', async () => {
    const pump = fc.record({
      takesMs: fc.integer({ min: 0, max: 5_000 }),
      fails: fc.boolean(),
      again: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(pump, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (pumps, streams, zones) => {
          const workshop = createWorkshop()
          let index = 0
          workshop.due(
            Array.from({ length: zones }, (_, zone) => zone + 1),
            0,
          )
          workshop.work = async ({ stream }, signal) => {
            const { takesMs, fails, again } = pumps[index++ % pumps.length]!
            await workshop.clock.sleep(takesMs, signal)
            if (!again) workshop.due([stream.zone], Infinity)
            if (fails) throw new Failure('retry', 'store_unavailable', 'x')
            return undefined
          }
          const { schedule } = createWatched(workshop, streams)
          await schedule.start()
          await passTime(workshop, 20_000)
          expect(workshop.mostAtOnce).toBe(Math.min(streams, zones))
          await schedule.stop()
          expect(workshop.running.size).toBe(0)
          expect(workshop.clock.sleeping()).toBe(0)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('do not pump a stream again by a plan that was begun before its last pump ended', async () => {
    const workshop = slowPlan(400)
    workshop.due([1, 2], 0)
    workshop.work = async ({ stream }, signal) => {
      // From the end of the first plan to the middle of the second one.
      await workshop.clock.sleep(1_800, signal)
      workshop.due([stream.zone], Infinity)
      return undefined
    }
    await expectEachPumpedOnce(workshop, ['1', '2'])
  })

  it('start what is due although a plan takes longer than it counts', async () => {
    const workshop = slowPlan(2_000)
    workshop.due([1, 2], 0)
    await expectEachPumpedOnce(workshop, ['1', '2'])
  })

  it('keep ticking and sending heartbeats while every pump hangs', async () => {
    const workshop = createWorkshop()
    workshop.due([1, 2, 3, 4, 5], 0)
    workshop.work = (_, signal) => hang(signal)
    const { schedule, watched } = createWatched(workshop)
    await schedule.start()
    await passTime(workshop, 60_000)
    expect(watched.turns).toBeGreaterThan(30)
    expect(watched.heartbeats).toBeGreaterThan(10)
    expect(workshop.begun).toEqual(['1', '2', '3'])
    await schedule.stop()
  })

  it('run housekeeping every ten minutes, and sooner again if it was too early', async () => {
    const workshop = createWorkshop()
    const { schedule, watched } = createWatched(workshop)
    watched.isTooEarly = true
    await schedule.start()
    await passTime(workshop, 20_000)
    expect(watched.housekeeps).toBeGreaterThan(2)
    watched.isTooEarly = false
    await passTime(workshop, 10_000)
    const before = watched.housekeeps
    await passTime(workshop, 60_000)
    expect(watched.housekeeps).toBe(before)
    await schedule.stop()
  })

  it('begin with the stream that became due first, so that a long backlog delays no stream for ever', async () => {
    const workshop = createWorkshop()
    workshop.due([1, 2, 3, 4, 5, 6], 0)
    workshop.work = async ({ stream }, signal) => {
      await workshop.clock.sleep(1_000, signal)
      // More to do at once: due from now on, behind those that wait already.
      workshop.due([stream.zone], workshop.clock.now())
      return undefined
    }
    const { schedule } = createWatched(workshop, 2)
    await schedule.start()
    await passTime(workshop, 30_000)
    const counts = Map.groupBy(workshop.begun, (zone) => zone)
    const sizes = [...counts.values()].map(({ length }) => length)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(2)
    await schedule.stop()
  })

  it('retry a store that cannot be read about once a second, and report it', async () => {
    const workshop = createWorkshop()
    workshop.plan = () => Promise.reject(new Failure('retry', 'store_unavailable', 'no disk'))
    const { schedule, watched } = createWatched(workshop)
    watched.heartbeat = () => Promise.reject(new Failure('retry', 'store_unavailable', 'no disk'))
    await schedule.start()
    await passTime(workshop, 30_000)
    expect(watched.turns).toBeGreaterThan(20)
    expect(watched.turns).toBeLessThan(40)
    expect(watched.heartbeats).toBeLessThan(8)
    const told = workshop.internalEvents.map((each) => (each.name === 'UpkeepFailed' ? each.task : each.name))
    expect(new Set(told)).toEqual(new Set(['TickFailed', 'heartbeat']))
    await schedule.stop()
  })

  it('delay a stream whose failure could not be recorded', async () => {
    const workshop = createWorkshop()
    workshop.due([1], 0)
    workshop.work = () => Promise.reject(new Failure('retry', 'store_unavailable', 'no disk'))
    const { schedule } = createWatched(workshop)
    await schedule.start()
    await passTime(workshop, 30_000)
    expect(workshop.begun.length).toBeGreaterThanOrEqual(4)
    expect(workshop.begun.length).toBeLessThanOrEqual(7)
    await schedule.stop()
  })

  it('try a stream that another process holds again, without a log line', async () => {
    const workshop = createWorkshop()
    workshop.due([1], 0)
    workshop.work = () => Promise.reject(new Failure('wait', 'held', 'x'))
    const { schedule } = createWatched(workshop)
    await schedule.start()
    await passTime(workshop, 20_000)
    expect(workshop.begun.length).toBeGreaterThan(1)
    expect(workshop.internalEvents).toEqual([])
    await schedule.stop()
  })

  it('use at most about a fifth of the time for planning', async () => {
    const workshop = slowPlan(500)
    const { schedule } = createWatched(workshop)
    await schedule.start()
    await passTime(workshop, 30_000)
    expect(workshop.plans).toBeLessThanOrEqual(13)
    const stopped = schedule.stop()
    await passTime(workshop, 1_000)
    await stopped
  })

  it('stop by aborting running pumps and waiting for their end, safe twice and before the start', async () => {
    const workshop = createWorkshop()
    workshop.due([1, 2, 3], 0)
    let [aborted, ended] = [0, 0]
    workshop.work = async (_, signal) => {
      await hang(signal).catch(() => aborted++)
      for (let turn = 0; turn < 20; turn++) await setImmediate()
      ended++
      throw new TypeError('whatever a pump that is cut short throws')
    }
    const { schedule, watched } = createWatched(workshop)
    await Promise.all([schedule.start(), schedule.start()])
    await passTime(workshop, 1_000)
    expect(watched.housekeeps).toBe(1)
    await Promise.all([schedule.stop(), schedule.stop()])
    expect([aborted, ended]).toEqual([3, 3])
    expect(workshop.internalEvents).toEqual([])
    expect(workshop.clock.sleeping()).toBe(0)
    const other = createWatched(createWorkshop())
    await other.schedule.stop()
    await other.schedule.start()
    expect(other.watched.turns).toBe(0)
  })
})
