import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import { Queues } from '../../../src/schedule/bullmq/queues.ts'
import { BullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import type { BullmqScheduleDeps, BullmqScheduleOptions } from '../../../src/schedule/bullmq/schedule.ts'
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
  const internalEvents: InternalEvent[] = []
  const schedule = new BullmqSchedule(
    {
      connection: serversAt(url),
      keyPrefix,
      role: 'all',
      sinks: ['archive'],
      streams: 1,
      backfillStreams: 1,
      tickMs: 200,
      ...options,
    },
    {
      clock: systemClock,
      telemetry: { emit: (internalEvent) => void internalEvents.push(internalEvent) },
      fail: async () => undefined,
      plan: async () => [1, 2].map(planned),
      planned: async ({ zone }) => (due.has(streamKey(streamOf(zone))) ? planned(zone) : undefined),
      async pump({ stream }) {
        due.set(streamKey(stream), Infinity)
        return undefined
      },
      now: () => Date.now(),
      heartbeat: async () => undefined,
      housekeep: async () => true,
      removedSinks: async () => [],
      reconcile: async () => undefined,
      turned: noProblem,
      ...deps,
    },
  )
  own({ what: 'schedule', isLeft: () => true, remove: () => schedule.stop(), isFault: false })
  await schedule.start()
  return { schedule, internalEvents, due }
}

describe.skipIf(!redisAvailable())('the inspection of a fleet', () => {
  it('counts jobs by priority and state', async () => {
    const redis = await useRedis()
    const held = Promise.withResolvers<undefined>()
    const { schedule } = await started(redis, {}, { pump: () => held.promise })
    const jobs = async (state: string) =>
      (await schedule.queues()).find((each) => each.priority === 'live' && each.state === state)?.jobs
    await waitFor(async () => (await jobs('active')) === 1 && (await jobs('waiting')) === 1, {
      what: 'both jobs',
    })
    expect(await schedule.queues()).toHaveLength(4)
    held.resolve(undefined)
  })

  it('continues a trace from the tick to the pump in another process', async () => {
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

  it('drops the jobs of sinks that are no longer configured', async () => {
    const redis = await useRedis()
    const { keyPrefix } = redis
    const client = connected(redis.url)
    const queues = new Queues({ client, keyPrefix, sinks: ['siem', 'old'], reportError: noProblem })
    const stream = { ...streamOf(1), sink: 'old' }
    await queues.add('live', 'siem', [{ stream: { ...stream, sink: 'siem' } }])
    await queues.add('live', 'old', [{ stream }])
    await queues.add('backfill', 'old', [{ stream }])
    await started(redis, { role: 'scheduler' }, { removedSinks: async () => ['old'] })
    const waiting = async (priority: 'live' | 'backfill') => (await queues.idsOf(priority, 'old')).size
    await waitFor(async () => (await waiting('live')) + (await waiting('backfill')) === 0, {
      what: 'the jobs to go',
    })
    expect(await queues.of('live', 'old').isPaused()).toBe(false)
    expect((await queues.idsOf('live', 'siem')).size).toBe(1)
    await queues.close()
  })

  it('drops invalid or unplanned jobs with a log line, and continues', async () => {
    const redis = await useRedis()
    const { keyPrefix } = redis
    const client = connected(redis.url)
    const queues = new Queues({ client, keyPrefix, sinks: ['archive'], reportError: noProblem })
    const live = queues.of('live', 'archive')
    await live.add('live', { zone: 'x' })
    await live.add('live', {})
    await queues.add('live', 'archive', [{ stream: streamOf(99) }])
    const { due, internalEvents } = await started(redis, {})
    await waitFor(() => [...due.values()].every((atMs) => atMs === Infinity), { what: 'both pumps' })
    const lines = internalEvents.flatMap((each) => (each.name === 'Warned' ? [each.text] : []))
    expect(lines).toEqual([
      expect.stringContaining('whose id is no stream'),
      expect.stringContaining('whose id is no stream'),
      expect.stringContaining('that it does not plan'),
    ])
    await waitFor(async () => Object.values(await live.getJobCounts()).every((count) => count === 0), {
      what: 'an empty queue',
    })
    await queues.close()
  })

  it('accepts an interval that is not a whole number of ms', async () => {
    const redis = await useRedis()
    const { due, internalEvents } = await started(redis, { tickMs: 1_000.000_1 })
    await waitFor(() => [...due.values()].every((atMs) => atMs === Infinity), { what: 'both pumps' })
    expect(internalEvents).toEqual([])
  })

  it('keeps nothing of finished jobs', async () => {
    const redis = await useRedis()
    const { due } = await started(redis, {})
    await waitFor(() => [...due.values()].every((atMs) => atMs === Infinity), { what: 'both pumps' })
    const client = connected(redis.url)
    const kept = async () =>
      (await client.keys(`{${redis.keyPrefix}}:queue:live-archive:*`)).filter(
        (key) => !/:(?:meta|events|id|marker|stalled-check)$/.test(key),
      )
    await waitFor(async () => (await kept()).length === 0, { what: 'an empty queue' })
  })
})
