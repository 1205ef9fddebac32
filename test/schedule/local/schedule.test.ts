import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../../src/domain/failure.ts'
import { startLocalSchedule, createRooms } from '../../../src/schedule/local/schedule.ts'
import { sharesOf } from '../../../src/schedule/pumping.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'
import { World, plannedStream, streamOf, untilAborted } from '../../contract/schedule/world.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'

scheduleContract('timers in this process', (of) => startLocalSchedule(of.deps()))

const noDisk = new Failure('retry', 'store_unavailable', 'no disk')

/** Lets time go by in small steps, so that whatever is woken does its work. */
async function passTime({ clock }: World<FakeClock>, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) await clock.advance(250)
}

/** A schedule over a world of these zones that ran for a time and was stopped. */
async function run(
  ms: number,
  zones: readonly number[],
  set: (world: World<FakeClock>) => void,
): Promise<World<FakeClock>> {
  const world = new World(createFakeClock())
  world.add('live', zones)
  set(world)
  const schedule = startLocalSchedule(world.deps())
  await passTime(world, ms)
  const stopped = schedule.stop()
  // A plan that was begun is waited for.
  await passTime(world, 2_000)
  await stopped
  expect([world.running.size, world.clock.sleeping()]).toEqual([0, 0])
  return world
}

describe('the timers of the local schedule', () => {
  it.each([
    // From the end of the first plan to the middle of the second one.
    ['do not pump a stream again by a plan that was begun before its last pump ended', 400, 1_800],
    ['start what is due although a plan takes longer than it counts', 2_000, 0],
  ])('%s', async (_, planTakesMs, pumpMs) => {
    const { begun } = await run(20_000, [1, 2], (world) => {
      world.planTakesMs = planTakesMs
      world.work = async ({ stream, priority }, signal) => {
        await world.clock.sleep(pumpMs, signal)
        world.rest(stream, priority)
        return undefined
      }
    })
    expect(begun).toEqual(['live 1', 'live 2'])
  })

  it('keep ticking and sending heartbeats while every pump hangs', async () => {
    const { turns, heartbeats, begun } = await run(60_000, [1, 2, 3, 4, 5], (world) => {
      world.work = (_, signal) => untilAborted(signal)
    })
    expect(turns).toBeGreaterThan(30)
    expect(heartbeats).toBeGreaterThan(10)
    expect(begun).toEqual(['live 1', 'live 2', 'live 3'])
  })

  it('run housekeeping every ten minutes, and sooner again if it was too early', async () => {
    const world = new World(createFakeClock())
    let isTooEarly = true
    const housekeep = async () => {
      world.housekeeps++
      return !isTooEarly
    }
    const schedule = startLocalSchedule({ ...world.deps(), housekeep })
    await passTime(world, 20_000)
    expect(world.housekeeps).toBeGreaterThan(2)
    isTooEarly = false
    await passTime(world, 10_000)
    const before = world.housekeeps
    await passTime(world, 60_000)
    expect(world.housekeeps).toBe(before)
    await schedule.stop()
  })

  it('retry a store that cannot be read about once a second, and report it', async () => {
    const world = new World(createFakeClock())
    world.planFails = () => true
    const heartbeat = async () => {
      world.heartbeats++
      throw noDisk
    }
    const schedule = startLocalSchedule({ ...world.deps(), heartbeat })
    await passTime(world, 30_000)
    expect(world.turns).toBeGreaterThan(20)
    expect(world.turns).toBeLessThan(40)
    expect(world.heartbeats).toBeLessThan(8)
    const told = world.internalEvents.map((each) => (each.name === 'UpkeepFailed' ? each.task : each.name))
    expect(new Set(told)).toEqual(new Set(['TickFailed', 'heartbeat']))
    await schedule.stop()
  })

  it.each([
    ['delay a stream whose failure could not be recorded', noDisk, 4, 7, 'PumpFailed'],
    [
      'try a stream that another process holds again, without a log line',
      new Failure('wait', 'held', 'x'),
      4,
      7,
      undefined,
    ],
  ])('%s', async (_, error, least, most, told) => {
    const { begun, internalEvents } = await run(30_000, [1], (world) => {
      world.work = () => Promise.reject(error)
    })
    expect(begun.length).toBeGreaterThanOrEqual(least)
    expect(begun.length).toBeLessThanOrEqual(most)
    expect(internalEvents[0]?.name).toBe(told)
  })

  it('use at most about a fifth of the time for planning', async () => {
    const { plans } = await run(30_000, [], (world) => {
      world.planTakesMs = 500
    })
    expect(plans).toBeLessThanOrEqual(13)
  })

  it('stop by aborting running pumps and waiting for their end, safe twice', async () => {
    const world = new World(createFakeClock())
    world.add('live', [1, 2, 3])
    let [aborted, ended] = [0, 0]
    world.work = async (_, signal) => {
      await untilAborted(signal).catch(() => aborted++)
      for (let turn = 0; turn < 20; turn++) await setImmediate()
      ended++
      throw new TypeError('whatever a pump that is cut short throws')
    }
    const schedule = startLocalSchedule(world.deps())
    await passTime(world, 1_000)
    expect(world.housekeeps).toBe(1)
    await Promise.all([schedule.stop(), schedule.stop()])
    expect([aborted, ended]).toEqual([3, 3])
    expect(world.internalEvents).toEqual([])
    expect(world.clock.sleeping()).toBe(0)
  })
})

it('sinks share all places evenly, and each has one at least', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 64 }), (places, count) => {
      const names = Array.from({ length: count }, (_, index) => `sink-${index}`)
      const shares = [...sharesOf(places, names).values()]
      expect(shares).toHaveLength(count)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(Math.max(places, count))
    }),
  )
})

it('a stream has a place while its sink and its priority have one', () => {
  const queue = ['a', 'a', 'a', 'b', 'b'].map((sink, zone) => plannedStream(streamOf(zone, sink), 'live', 0))
  const backfill = plannedStream(streamOf(9, 'a'), 'backfill', 0)
  const rooms = createRooms({ live: 3, backfill: 1 })
  rooms.divide([...queue, backfill])
  const running = queue.filter((each) => {
    const isFree = rooms.isFree(each)
    if (isFree) rooms.enter(each)
    return isFree
  })
  expect(running.map(({ stream }) => stream.zone)).toEqual([0, 1, 3])
  expect(rooms.isFree(backfill)).toBe(true)
  rooms.leave(running[2]!)
  expect(queue.map((each) => rooms.isFree(each))).toEqual([false, false, false, true, true])
})
