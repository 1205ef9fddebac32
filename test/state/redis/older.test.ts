import { expect, it } from 'vitest'
import { buildCommit, buildHolder, buildStream, packed } from '../../contract/checkpoint-store/builders.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { clientOf, openAt, stateAt } from './opening.ts'

it.skipIf(!redisAvailable())('gives no fence a second time when it came back older than it was', async () => {
  const { url, keyPrefix } = await useRedis()
  const client = clientOf(url)
  const store = await openAt(stateAt(url, { keyPrefix }))
  const stream = buildStream()
  const record = `${keyPrefix}:{101/2026-11-20/archive}:c`
  const first = await store.take(stream, buildHolder('one'))
  await store.commit(buildCommit(stream, first.fence, 0))
  await store.release(stream, first.fence)
  const older = await client.getBuffer(record)
  // What follows lies within the second that the server loses.
  const lost = await store.take(stream, buildHolder('one'))
  const commit = buildCommit(stream, lost.fence, 1, { seen: new Map([[1, packed(1, 3)]]) })
  expect(await store.commit(commit)).toBe('done')
  await client.set(record, older!)

  const next = await store.take(stream, buildHolder('two'))
  expect(next.checkpoint?.commit).toBe(1)
  expect(next.fence).toBeGreaterThan(lost.fence)
  expect(await store.commit(buildCommit(stream, next.fence, 1))).toBe('done')
  // The numbers of its commits fit again; only the fence tells that it builds on what is no more.
  expect(await store.commit(buildCommit(stream, lost.fence, 2))).toBe('refused')
  expect(await store.holds(stream, lost.fence)).toBe(false)
})
