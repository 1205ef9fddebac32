import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import type { Stream } from '../../../src/domain/stream.ts'
import { buildCommit, buildHolder, buildStream, packed } from '../../contract/checkpoint-store/builders.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { clientOf, openAt, stateAt } from './opening.ts'

it.skipIf(!redisAvailable())('gives no fence a second time after it lost its latest writes', async () => {
  const { url, keyPrefix } = await useRedis()
  const client = clientOf(url)
  const store = await openAt(stateAt(url, { keyPrefix }))
  const stream = buildStream()
  const first = await store.ledger.take(stream, buildHolder('one'))
  await store.ledger.commit(buildCommit(stream, first.fence, 0))
  await store.ledger.release(stream, first.fence)
  const older = await dumpsOf(client, keyPrefix)
  // What follows lies within the second that the server loses.
  const lost = await store.ledger.take(stream, buildHolder('one'))
  const commit = buildCommit(stream, lost.fence, 1, { seen: new Map([[1, packed(1, 3)]]) })
  expect(await store.ledger.commit(commit)).toBe('done')
  for (const [key, value] of older) await client.restore(key, 0, value, 'REPLACE')

  const next = await store.ledger.take(stream, buildHolder('two'))
  expect(next.checkpoint?.commit).toBe(1)
  expect(next.fence).toBeGreaterThan(lost.fence)
  expect(await store.ledger.commit(buildCommit(stream, next.fence, 1))).toBe('done')
  // The numbers of its commits fit again; only the fence tells that it builds on what is no more.
  expect(await store.ledger.commit(buildCommit(stream, lost.fence, 2))).toBe('refused')
  expect(await store.ledger.holds(stream, lost.fence)).toBe(false)
})

it.skipIf(!redisAvailable())('lists its content, also for a process that knew later writes', async () => {
  const { url, keyPrefix } = await useRedis()
  const client = clientOf(url)
  const store = await openAt(stateAt(url, { keyPrefix: `${keyPrefix}-list` }))
  const [one, two] = [buildStream(), buildStream({ zone: 102 })]
  const commit = async (stream: Stream) => {
    const { fence, checkpoint } = await store.ledger.take(stream, buildHolder('one'))
    const number = checkpoint?.commit ?? 0
    expect(await store.ledger.commit(buildCommit(stream, fence, number))).toBe('done')
  }
  const commits = async () =>
    (await store.catalogue.checkpoints())
      .map((each) => [each.stream.zone, each.commit] as const)
      .sort(([one], [other]) => one - other)
  await commit(one)
  await commit(two)
  const older = await dumpsOf(client, `${keyPrefix}-list`)
  await commit(one)
  expect(await commits()).toEqual([
    [101, 2],
    [102, 1],
  ])
  for (const [key, value] of older) await client.restore(key, 0, value, 'REPLACE')
  // As many changes as before, and more.
  for (let count = 0; count < 3; count++) await commit(two)
  expect(await commits()).toEqual([
    [101, 1],
    [102, 4],
  ])
})

async function dumpsOf(client: Redis, keyPrefix: string) {
  const keys = await client.keys(`{${keyPrefix}}:*`)
  return Promise.all(keys.map(async (key) => [key, await client.dumpBuffer(key)] as const))
}
