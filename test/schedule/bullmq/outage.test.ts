import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { isFailure } from '../../../src/domain/failure.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import { connected } from '../../redis/connected.ts'
import { redisServerAvailable, startRedis, type TestRedisServer } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { scheduleAt } from './started.ts'

/** A stream is due again so long after its pump: each pump is one that a tick has queued. */
const restMs = 100

/** A schedule in this process over streams that are due again and again, beside a Redis that the test may hurt. */
function pumpingAt(server: TestRedisServer, { pumpMs = 20 } = {}) {
  const seen = { pumps: 0, turns: { tick: 0, worker: 0 } }
  const { schedule, due, internalEvents } = scheduleAt(
    server,
    { zones: [1, 2, 3, 4, 5], streams: 3, tickMs: 300 },
    {
      async pump({ stream }, signal) {
        await systemClock.sleep(pumpMs, signal)
        due.set(streamKey(stream), Date.now() + restMs)
        seen.pumps++
        return undefined
      },
      turned: (loop) => void seen.turns[loop]++,
    },
  )
  return { schedule, seen: Object.assign(seen, { internalEvents }) }
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
    const { schedule, seen } = pumpingAt(server)
    await schedule.start()
    await untilMorePumps(seen)
    await connected(server.url).flushall()
    await untilMorePumps(seen)
    await connected(server.url).flushall()
    await untilMorePumps(seen)
  })

  it('was down for ten seconds continues by itself, and ticks meanwhile', async () => {
    const server = await startRedis()
    const { schedule, seen } = pumpingAt(server)
    await schedule.start()
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

  it('goes down during a tick is what the line of the tick says', async () => {
    const server = await startRedis()
    const { schedule, internalEvents } = scheduleAt(
      server,
      {},
      {
        plan: async () => {
          await server.kill()
          return []
        },
      },
    )
    await schedule.start()
    const failed = () => internalEvents.find(({ name }) => name === 'TickFailed')
    await waitFor(() => failed() !== undefined, { what: 'the line' })
    expect(failed()).toMatchObject({ error: { code: 'store_unavailable', kind: 'retry' } })
  })

  it('is down at the start begins when it is up', async () => {
    const server = await startRedis()
    await server.kill()
    const { schedule, seen } = pumpingAt(server)
    await schedule.start()
    await waitFor(() => codesOf(seen).includes('store_unavailable'), { what: 'the line' })
    await server.restart()
    await untilMorePumps(seen)
  })

  it('is down can be stopped', async () => {
    const server = await startRedis()
    const { schedule, seen } = pumpingAt(server, { pumpMs: 3_600_000 })
    await schedule.start()
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

  it('is full gets few commands, and does the work when it has memory again', async () => {
    const server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
    const { schedule, seen } = pumpingAt(server)
    await schedule.start()
    await untilMorePumps(seen)
    const client = connected(server.url)
    await client.config('SET', 'maxmemory', '1')
    await waitFor(() => codesOf(seen).includes('store_refuses'), { what: 'the line' })
    const commands = async () =>
      Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1] ?? Number.NaN)
    const saidOf = async () => seen.internalEvents.length
    const [commandsPerSecond, saidPerSecond] = await Promise.all([perSecond(commands), perSecond(saidOf)])
    // Two samples of a look, a heartbeat, some tries: tens a second at most, where a spinning worker makes thousands.
    expect(commandsPerSecond).toBeLessThan(100)
    expect(saidPerSecond).toBeLessThan(2.5)
    await client.config('SET', 'maxmemory', '0')
    await untilMorePumps(seen)
  })

  it('became a replica gets few commands, and does the work when it accepts writes again', async () => {
    const server = await startRedis()
    const { schedule, seen } = pumpingAt(server)
    await schedule.start()
    await untilMorePumps(seen)
    const client = connected(server.url)
    await client.call('REPLICAOF', '127.0.0.1', '1')
    await waitFor(() => codesOf(seen).includes('store_unavailable'), { what: 'the line' })
    const connections = async () =>
      Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1] ?? Number.NaN)
    const saidOf = async () => seen.internalEvents.length
    const [connectionsPerSecond, saidPerSecond] = await Promise.all([
      perSecond(connections),
      perSecond(saidOf),
    ])
    // Each connection asks now and then whether it has found a primary.
    expect(connectionsPerSecond).toBeLessThan(25)
    expect(saidPerSecond).toBeLessThan(2.5)
    await client.call('REPLICAOF', 'NO', 'ONE')
    await untilMorePumps(seen)
  })
})
