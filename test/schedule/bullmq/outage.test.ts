import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { isFailure } from '../../../src/domain/failure.ts'
import { connected } from '../../redis/connected.ts'
import { redisServerAvailable, startRedis, type TestRedisServer } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { scheduleAt } from './started.ts'

/** A schedule over streams that are due again and again, beside a Redis that the test may hurt. */
function pumpingAt(server: TestRedisServer, { pumpMs = 20 } = {}) {
  const seen = { pumps: 0 }
  const { schedule, world } = scheduleAt(
    server,
    { zones: [1, 2, 3, 4, 5], tickMs: 300 },
    { places: { live: 3, backfill: 1 } },
  )
  world.work = async ({ stream, priority }, signal) => {
    await systemClock.sleep(pumpMs, signal)
    // Each pump is one that a tick has queued.
    world.rest(stream, priority, Date.now() + 100)
    seen.pumps++
    return undefined
  }
  return { schedule, seen: Object.assign(seen, { internalEvents: world.internalEvents }) }
}

type Seen = ReturnType<typeof pumpingAt>['seen']

async function untilMorePumps(seen: Seen): Promise<void> {
  const before = seen.pumps
  await waitFor(() => seen.pumps > before + 10, { what: 'more pumps' })
}

/** How much a figure grows in a second, over the time that the measurement really took. */
async function perSecond(figureOf: () => Promise<number>): Promise<number> {
  const [before, fromMs] = [await figureOf(), systemClock.monotonic()]
  await systemClock.sleep(4_000, new AbortController().signal)
  return ((await figureOf()) - before) / ((systemClock.monotonic() - fromMs) / 1_000)
}

const codesOf = ({ internalEvents }: Seen) =>
  internalEvents.flatMap((each) => ('error' in each && isFailure(each.error) ? [each.error.code] : []))

// Each has a server of its own, and mostly waits.
describe.skipIf(!redisServerAvailable())('a schedule whose Redis', { concurrent: true }, () => {
  it('was flushed works again by itself', async () => {
    const server = await startRedis()
    const { seen } = pumpingAt(server)
    await untilMorePumps(seen)
    await connected(server.url).flushall()
    await untilMorePumps(seen)
  })

  it('was down for ten seconds continues by itself, and ticks meanwhile', async () => {
    const server = await startRedis()
    const { seen } = pumpingAt(server)
    await untilMorePumps(seen)
    await server.kill()
    const saidBefore = seen.internalEvents.length
    await systemClock.sleep(10_000, new AbortController().signal)
    // A few lines for each kind of trouble, not one for each try.
    expect(seen.internalEvents.length - saidBefore).toBeLessThan(10)
    expect(new Set(codesOf(seen))).toEqual(new Set(['store_unavailable']))
    const ends = () => seen.internalEvents.filter(({ name }) => name === 'QueueRecovered').length
    expect(ends()).toBe(0)
    await server.restart()
    await untilMorePumps(seen)
    await waitFor(() => ends() === 1, { what: 'the end of the outage' })
  })

  it('is down can be stopped', async () => {
    const server = await startRedis()
    const { schedule, seen } = pumpingAt(server, { pumpMs: 3_600_000 })
    await waitFor(
      async () => (await schedule.queues()).some(({ state, jobs }) => state === 'active' && jobs > 0),
      {
        what: 'a pump',
      },
    )
    await server.pause()
    // Redis answers again below only, and the pump would go on for much longer than this test.
    await schedule.stop()
    expect(seen.pumps).toBe(0)
    await server.resume()
  })

  it.each([
    {
      // Two samples of a look, a heartbeat, some tries: tens a second at most, where a spinning worker makes thousands.
      what: 'is full gets few commands, and does the work when it has memory again',
      hurt: ['CONFIG', 'SET', 'maxmemory', '1'],
      heal: ['CONFIG', 'SET', 'maxmemory', '0'],
      code: 'store_refuses',
      figure: 'total_commands_processed',
      most: 100,
    },
    {
      // Each connection asks now and then whether it has found a primary.
      what: 'became a replica gets few commands, and does the work when it accepts writes again',
      hurt: ['REPLICAOF', '127.0.0.1', '1'],
      heal: ['REPLICAOF', 'NO', 'ONE'],
      code: 'store_unavailable',
      figure: 'total_connections_received',
      most: 25,
    },
  ])('$what', async ({ hurt, heal, code, figure, most }) => {
    const server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
    const { seen } = pumpingAt(server)
    await untilMorePumps(seen)
    const client = connected(server.url)
    const call = ([command = '', ...args]: readonly string[]) => client.call(command, ...args)
    await call(hurt)
    await waitFor(() => codesOf(seen).some((each) => each === code), { what: 'the line' })
    const figureOf = async () =>
      Number(new RegExp(`${figure}:(\\d+)`).exec(await client.info('stats'))?.[1] ?? Number.NaN)
    const grown = await Promise.all([perSecond(figureOf), perSecond(async () => seen.internalEvents.length)])
    expect(grown[0]).toBeLessThan(most)
    expect(grown[1]).toBeLessThan(2.5)
    await call(heal)
    await untilMorePumps(seen)
  })
})
