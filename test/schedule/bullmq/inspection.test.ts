import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Happening } from '../../../src/domain/happening.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import { livingProcesses } from '../../../src/schedule/bullmq/presence.ts'
import { addJobs, openQueues } from '../../../src/schedule/bullmq/queues.ts'
import { createBullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import type { BullmqScheduleDeps, BullmqScheduleOptions } from '../../../src/schedule/bullmq/options.ts'
import { plannedStream, streamOf } from '../../contract/schedule/planned.ts'
import { connected } from '../../redis/connected.ts'
import { serversAt } from '../../redis/servers.ts'
import { own } from '../../setup/leftovers.ts'
import { redisAvailable, useRedis, type TestRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'

const noProblem = () => undefined

/** Starts a schedule over streams that are due once. */
async function started(
  { url, keyPrefix }: TestRedis,
  options: Partial<BullmqScheduleOptions>,
  deps: Partial<BullmqScheduleDeps> = {},
) {
  const due = new Map([1, 2].map((zone) => [streamKey(streamOf(zone)), 0]))
  const planned = (zone: number) =>
    plannedStream(streamOf(zone), 'live', due.get(streamKey(streamOf(zone))) ?? Infinity)
  const happenings: Happening[] = []
  const schedule = createBullmqSchedule(
    {
      connection: serversAt(url),
      keyPrefix,
      role: 'all',
      streams: 1,
      backfillStreams: 1,
      tickMs: 200,
      ...options,
    },
    {
      clock: systemClock,
      telemetry: { emit: (happening) => void happenings.push(happening) },
      sinks: 1,
      plan: async () => [1, 2].map(planned),
      planned: async ({ zone }) => (due.has(streamKey(streamOf(zone))) ? planned(zone) : undefined),
      async pump({ stream }) {
        due.set(streamKey(stream), Infinity)
        return undefined
      },
      now: () => Date.now(),
      heartbeat: async () => undefined,
      housekeep: async () => undefined,
      settle: async () => undefined,
      turned: noProblem,
      ...deps,
    },
  )
  own({ what: 'schedule', isLeft: () => true, remove: () => schedule.stop(), isFault: false })
  await schedule.start()
  return { schedule, happenings, due }
}

describe.skipIf(!redisAvailable())('what can be seen of a fleet', () => {
  it('names the processes that live, and forgets those that ended', async () => {
    const redis = await useRedis()
    const client = connected(redis.url)
    const living = () => livingProcesses(redis.keyPrefix, { client, clock: systemClock })
    expect(await living()).toEqual([])
    const { schedule } = await started(redis, { role: 'scheduler' })
    await started(redis, { role: 'worker' })
    const both = await waitFor(async () => ((await living()).length === 2 ? await living() : undefined), {
      what: 'both',
    })
    expect(both.map(({ role }) => role)).toEqual(['scheduler', 'worker'])
    expect(both[0]?.name).toMatch(
      new RegExp(`^process ${process.pid} on \\S+ since \\d{4}-.*Z, seen \\d+ s ago$`),
    )
    await schedule.stop()
    expect((await living()).map(({ role }) => role)).toEqual(['worker'])
  })

  it('counts jobs by lane and state', async () => {
    const redis = await useRedis()
    const held = Promise.withResolvers<undefined>()
    const { schedule } = await started(redis, {}, { pump: () => held.promise })
    const jobs = async (state: string) =>
      (await schedule.queues()).find((each) => each.lane === 'live' && each.state === state)?.jobs
    await waitFor(async () => (await jobs('active')) === 1 && (await jobs('waiting')) === 1, {
      what: 'both jobs',
    })
    expect(await schedule.queues()).toHaveLength(4)
    held.resolve(undefined)
  })

  it('tells a process that only schedules what the workers know of the time of the API', async () => {
    const redis = await useRedis()
    const learnt = new Map<string, number>()
    const aheadMs = 3_600_000
    const clocks = { told: () => new Map([['main', Date.now() + aheadMs]]), learn: noProblem }
    await started(redis, { role: 'worker' }, { clocks })
    await started(
      redis,
      { role: 'scheduler' },
      { clocks: { told: () => new Map(), learn: (account, ms) => void learnt.set(account, ms) } },
    )
    const offset = await waitFor(() => learnt.get('main'), { what: 'the offset', timeoutMs: 20_000 })
    expect(Math.abs(offset - aheadMs)).toBeLessThan(1_000)
  })

  it('carries a trace from the tick to the pump, through another process', async () => {
    const redis = await useRedis()
    const carried: unknown[] = []
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const tracing = {
      inject: () => ({ traceparent }),
      async within<T>(carrier: unknown, work: () => Promise<T>): Promise<T> {
        carried.push(carrier)
        return await work()
      },
    }
    await started(redis, { role: 'worker' }, { tracing })
    await started(redis, { role: 'scheduler' }, { tracing })
    await waitFor(() => carried.length >= 2, { what: 'both pumps' })
    expect(carried).toContainEqual({ traceparent })
  })

  it('drops jobs that hold nonsense or name what is not planned, with a line, and works on', async () => {
    const redis = await useRedis()
    const queues = openQueues(connected(redis.url), redis.keyPrefix, noProblem)
    await queues.lanes.live.add('live', { zone: 'x' })
    await queues.lanes.live.add('live', {})
    await addJobs(
      queues,
      'live',
      [{ stream: streamOf(99), account: 'main', lane: 'live', reason: 'due' }],
      undefined,
    )
    const { due, happenings } = await started(redis, {})
    await waitFor(() => [...due.values()].every((atMs) => atMs === Infinity), { what: 'both pumps' })
    const lines = happenings.flatMap((each) => (each.name === 'Warned' ? [each.text] : []))
    expect(lines).toEqual([
      expect.stringContaining('its zone is no whole number'),
      expect.stringContaining('its zone is no whole number'),
      expect.stringContaining('this process does not plan'),
    ])
    await waitFor(
      async () => Object.values(await queues.lanes.live.getJobCounts()).every((count) => count === 0),
      { what: 'an empty queue' },
    )
    await queues.close()
  })

  it('takes a pace that is no whole number of ms', async () => {
    const redis = await useRedis()
    const { due, happenings } = await started(redis, { tickMs: 1_000.000_1 })
    await waitFor(() => [...due.values()].every((atMs) => atMs === Infinity), { what: 'both pumps' })
    expect(happenings).toEqual([])
  })

  it('keeps nothing of the jobs that were done', async () => {
    const redis = await useRedis()
    const { due } = await started(redis, {})
    await waitFor(() => [...due.values()].every((atMs) => atMs === Infinity), { what: 'both pumps' })
    const client = connected(redis.url)
    const kept = async () =>
      (await client.keys(`{${redis.keyPrefix}}:queue:live:*`)).filter(
        (key) => !/:(?:meta|events|id|marker|stalled-check)$/.test(key),
      )
    await waitFor(async () => (await kept()).length === 0, { what: 'an empty queue' })
  })
})
