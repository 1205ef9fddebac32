import { Worker } from 'bullmq'
import { describe, expect, it } from 'vitest'
import { addJobs, openQueues, queuePrefix } from '../../../src/schedule/bullmq/queues.ts'
import { buildCheckpoint } from '../../contract/checkpoint-store/builders.ts'
import { streamOf } from '../../contract/schedule/world.ts'
import { connected } from '../../redis/connected.ts'
import { own } from '../../setup/leftovers.ts'
import { redisAvailable, useRedis, type TestRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { scheduleAt } from './started.ts'

/** Of the live streams of the sink. */
function queueAt({ url, keyPrefix }: TestRedis) {
  const sinks = ['archive']
  const queues = openQueues({ client: connected(url), keyPrefix, sinks, reportError: () => undefined })
  own({ what: 'queues', isLeft: () => true, remove: () => queues.close(), isFault: false })
  return queues.ofStreams[0]!
}

/** A worker that takes a job and then behaves like a dead one: nothing renews the lock. */
async function takeAndDie({ url, keyPrefix }: TestRedis): Promise<void> {
  const taken = Promise.withResolvers<undefined>()
  const hang = () => {
    taken.resolve(undefined)
    return new Promise(() => undefined)
  }
  const worker = new Worker('live-archive', hang, {
    connection: connected(url, 'patient'),
    prefix: queuePrefix(keyPrefix),
    lockDuration: 500,
    stalledInterval: 500,
    skipLockRenewal: true,
    maxStalledCount: 10,
  })
  own({ what: 'worker', isLeft: () => true, remove: () => worker.close(true), isFault: false })
  await taken.promise
}

describe.skipIf(!redisAvailable())('jobs in Redis', () => {
  it('are counted by priority and state', async () => {
    const held = Promise.withResolvers<undefined>()
    const { schedule } = scheduleAt(await useRedis(), {}, { pump: () => held.promise })
    const jobs = async (state: string) =>
      (await schedule.queues()).find((each) => each.priority === 'live' && each.state === state)?.jobs
    await waitFor(async () => (await jobs('active')) === 1 && (await jobs('waiting')) === 1, {
      what: 'both jobs',
    })
    expect(await schedule.queues()).toHaveLength(4)
    held.resolve(undefined)
  })

  it('that are invalid or not planned are dropped with a log line, and nothing of finished ones is kept', async () => {
    const redis = await useRedis()
    const live = queueAt(redis)
    await live.queue.add('live', {})
    await addJobs(live, [{ stream: streamOf(99) }])
    // An interval that is not a whole number of ms is accepted.
    const { world } = scheduleAt(redis, { tickMs: 1_000.000_1 })
    await waitFor(() => world.ended.length === 2, { what: 'both pumps' })
    expect(world.internalEvents).toMatchObject([
      { name: 'Warned', text: expect.stringContaining('whose id is no stream') },
      { name: 'Warned', text: expect.stringContaining('that it does not plan') },
    ])
    const client = connected(redis.url)
    const kept = async () =>
      (await client.keys(`{${redis.keyPrefix}}:queue:live-archive:*`)).filter(
        (key) => !/:(?:meta|events|id|marker|stalled-check)$/.test(key),
      )
    await waitFor(async () => (await kept()).length === 0, { what: 'an empty queue' })
  })

  it.each([
    ['one worker that died is pumped', 1, 'network', 'pumped'],
    ['a second one that died backs off', 2, 'network', 'crashed'],
    ['one that died backs off if that has happened before', 1, 'crashed', 'crashed'],
  ] as const)('of a stream after %s', async (_, deaths, code, expected) => {
    const redis = await useRedis()
    await addJobs(queueAt(redis), [{ stream: streamOf(1) }])
    for (let death = 0; death < deaths; death++) await takeAndDie(redis)
    const outcomes: string[] = []
    const end = (outcome: string) => {
      outcomes.push(outcome)
      world.add('live', [1], Infinity)
      return undefined
    }
    const { world } = scheduleAt(
      redis,
      { zones: [1], role: 'worker', lockMs: 1_000 },
      { pump: async () => end('pumped'), fail: async (_planned, failure) => end(failure.code) },
    )
    const times = { count: 1, sinceMs: 1, atMs: 1, retryAtMs: 2 }
    const trouble = { kind: 'retry', code, message: '', ...times } as const
    world.checkpoint = buildCheckpoint(streamOf(1), 1, { trouble })
    await waitFor(() => outcomes.length > 0, { what: 'the stream' })
    expect(outcomes).toEqual([expected])
  })
})
