import { Queue, Worker } from 'bullmq'
import { describe, expect, it, vi, type TestContext } from 'vitest'
import { createConsumer, type ConsumerDeps } from '../../../src/schedule/bullmq/consumer.ts'
import { queuePrefix } from '../../../src/schedule/bullmq/queue-names.ts'
import { jobOptions } from '../../../src/schedule/bullmq/queues.ts'
import { createShiftedClock } from '../../entry/shifted-clock.ts'
import { connected } from '../../redis/connected.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'

async function consumed(test: TestContext, rate: number, deps: Pick<ConsumerDeps, 'work'>) {
  const { url, keyPrefix } = await useRedis()
  const prefix = queuePrefix(keyPrefix)
  const client = connected(url)
  const queue = new Queue('live', { connection: client, prefix })
  const errors: unknown[] = []
  const seen = { turns: 0, errors }
  const consumer = createConsumer(
    { queue: 'live', prefix, slots: 2, lockMs: 15_000, stalledCheckMs: 1_000 },
    {
      clock: createShiftedClock({ rate }),
      voice: (error) => void errors.push(error),
      client: connected(url, 'patient'),
      answers: async () => (await client.ping()) === 'PONG',
      turned: () => void seen.turns++,
      ...deps,
    },
  )
  test.onTestFinished(async () => {
    await consumer.stop(1_000)
    await queue.close()
  })
  return { consumer, queue, client, prefix, seen }
}

describe.skipIf(!redisAvailable())('taking jobs', () => {
  it('is begun anew where the queue has got stuck although Redis answers', async (test) => {
    const done: unknown[] = []
    const work = async (data: unknown) => {
      done.push(data)
      return { as: 'done' } as const
    }
    // Twenty times as fast, so that the bound of twenty seconds is one.
    const { consumer, queue, seen } = await consumed(test, 20, { work })
    vi.spyOn(Worker.prototype, 'getNextJob').mockImplementationOnce(() => new Promise(() => undefined))
    consumer.start()
    await queue.add('live', { zone: 1 }, jobOptions)
    await waitFor(() => done.length === 1, { what: 'the job' })
    expect(String(seen.errors[0])).toContain('got stuck')
  })

  it('lets go of work whose lock was taken away, and leaves the job to its new owner', async (test) => {
    const signals: AbortSignal[] = []
    const work = async (_: unknown, signal: AbortSignal) => {
      signals.push(signal)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      return { as: 'done' } as const
    }
    const { consumer, queue, client, prefix } = await consumed(test, 5, { work })
    consumer.start()
    const { id } = await queue.add('live', { zone: 1 }, jobOptions)
    await waitFor(() => signals.length === 1, { what: 'the job' })
    await client.set(`${prefix}:live:${id}:lock`, 'somebody else')
    await waitFor(() => signals[0]?.aborted, { what: 'the abort' })
    expect(await queue.getActiveCount()).toBe(1)
    expect(await client.get(`${prefix}:live:${id}:lock`)).toBe('somebody else')
  })

  it('gives back what does not end in time, and ends', async (test) => {
    const begun: unknown[] = []
    const work = async (data: unknown) => {
      begun.push(data)
      return new Promise<never>(() => undefined)
    }
    const { consumer, queue } = await consumed(test, 1, { work })
    consumer.start()
    await queue.addBulk([1, 2].map((zone) => ({ name: 'live', data: { zone }, opts: jobOptions })))
    await waitFor(() => begun.length === 2, { what: 'both jobs' })
    await consumer.stop(100)
    expect(await queue.getJobCounts('active', 'waiting')).toEqual({ active: 0, waiting: 2 })
    await consumer.stop(100)
  })
})
