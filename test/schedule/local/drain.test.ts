import { describe, expect, it } from 'vitest'
import { cancelled, Failure } from '../../../src/domain/failure.ts'
import { drain, type GivenUp } from '../../../src/schedule/local/drain.ts'
import { World, untilAborted } from '../../contract/schedule/world.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'

function worldOf(zones: readonly number[]): World<FakeClock> {
  const world = new World(createFakeClock())
  world.add('live', zones)
  return world
}

/** Drains a world, and moves time until that has ended. */
async function drained(world: World<FakeClock>, stop = new AbortController()): Promise<GivenUp[]> {
  const { clock } = world
  const { plan, pump, heartbeat } = world.deps()
  const ended = drain({ clock, plan, pump, heartbeat, places: { live: 3, backfill: 0 } }, stop.signal)
  const over = { is: false }
  ended.finally(() => (over.is = true)).catch(() => undefined)
  for (let turns = 0; !over.is && turns < 20_000; turns++) await clock.advance(100)
  expect([world.running.size, clock.sleeping()]).toEqual([0, 0])
  return ended
}

const noRoute = new Failure('retry', 'network', 'no route')

describe('a drain', () => {
  it('ends when no stream is due, without giving up any', async () => {
    const world = worldOf([1, 2, 3, 4, 5])
    const pumpsOf = (zone: number) => world.begun.filter((key) => key === `live ${zone}`).length
    world.work = async ({ stream, priority }, signal) => {
      await world.clock.sleep(300, signal)
      if (pumpsOf(stream.zone) === stream.zone) world.rest(stream, priority)
      return undefined
    }
    expect(await drained(world)).toEqual([])
    expect([1, 2, 3, 4, 5].map(pumpsOf)).toEqual([1, 2, 3, 4, 5])
    expect(world.mostAtOnce).toBe(3)
  })

  it('plans many streams a few times, not once for each', async () => {
    const world = worldOf(Array.from({ length: 300 }, (_, zone) => zone + 1))
    await drained(world)
    expect(world.begun).toHaveLength(300)
    expect(world.plans).toBeLessThan(30)
  })

  it.each([
    ['a temporary failure four times in a row', noRoute, 4],
    ['what a person must fix once', new Failure('stop', 'unauthorised', 'bad key'), 1],
    ['what will always fail once', new Failure('refuse', 'zone_gone', 'no such zone'), 1],
    ['a bug once', new TypeError('a bug'), 1],
  ])('tries %s, and gives up only that stream', async (_, error, tries) => {
    const world = worldOf([1, 2])
    world.work = async ({ stream, priority }) => {
      if (stream.zone === 2) world.rest(stream, priority)
      else if (error instanceof Failure) return error
      else throw error
      return undefined
    }
    const reason = error.message
    expect(await drained(world)).toMatchObject([{ planned: { stream: { zone: 1 } }, reason }])
    expect(world.begun.filter((key) => key === 'live 1')).toHaveLength(tries)
  })

  it('restarts the count when a stream has progressed', async () => {
    const world = worldOf([1])
    world.work = async ({ stream, priority }) => {
      if (world.begun.length === 20) world.rest(stream, priority)
      return world.begun.length % 3 === 0 ? undefined : noRoute
    }
    expect(await drained(world)).toEqual([])
    expect(world.begun).toHaveLength(20)
  })

  it.each([
    ['waits as long as the destination asks, up to a minute', 50_000, 2],
    ['leaves longer waits to the next run', 61_000, 1],
  ])('%s', async (_, waitMs, pumps) => {
    const world = worldOf([1])
    const beganMs = world.clock.now()
    world.work = async ({ stream, priority }) => {
      if (world.begun.length === 1)
        return new Failure('wait', 'throttled', 'slowly', { retryAt: beganMs + waitMs })
      world.rest(stream, priority)
      return undefined
    }
    expect(await drained(world)).toHaveLength(2 - pumps)
    expect(world.begun).toHaveLength(pumps)
    if (pumps === 2) expect(world.clock.now() - beganMs).toBeGreaterThanOrEqual(waitMs)
  })

  it('survives a short failure of the store, and ends with a lasting one after all pumps have ended', async () => {
    const world = worldOf([1])
    world.planFails = () => world.plans % 2 === 1
    expect(await drained(world)).toEqual([])
    const other = worldOf([1])
    other.work = (_, signal) => untilAborted(signal)
    other.planFails = () => other.plans > 2
    await expect(drained(other)).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  it('sends heartbeats to the store during a long pump', async () => {
    const world = worldOf([1])
    world.work = async ({ stream, priority }, signal) => {
      await world.clock.sleep(60_000, signal)
      world.rest(stream, priority)
      return undefined
    }
    await drained(world)
    expect(world.heartbeats).toBeGreaterThanOrEqual(11)
  })

  it('ends its pumps when it is stopped, and throws', async () => {
    const world = worldOf([1, 2])
    const stop = new AbortController()
    world.work = (_, signal) => {
      if (world.begun.length === 2) stop.abort(cancelled())
      return untilAborted(signal)
    }
    await expect(drained(world, stop)).rejects.toMatchObject({ code: 'cancelled' })
  })
})
