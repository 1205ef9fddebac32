import { describe, expect, it } from 'vitest'
import { startOf } from '../../../src/domain/day.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import { buildCommit, buildHolder, buildStream, packed } from '../../contract/checkpoint-store/builders.ts'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { clientOf, openAt, stateAt } from './opening.ts'

describe.skipIf(!redisAvailable())('a deduplication index in Redis', async () => {
  if (!redisAvailable()) return
  const { url, keyPrefix } = await useRedis()

  it('counts as dropped as soon as some of it was deleted', async () => {
    const store = await openAt(stateAt(url, { keyPrefix }))
    const client = clientOf(url)
    const stream = buildStream()
    const seenKey = `{${keyPrefix}}:seen:${streamKey(stream)}`
    const first = startOf(stream.day) / 60_000
    const { fence } = await store.ledger.take(stream, buildHolder('one'))
    const seen = new Map([
      [first, packed(1, 300)],
      [first + 600, packed(1_000, 300)],
    ])
    await store.ledger.commit(buildCommit(stream, fence, 0, { seen }))
    await store.ledger.release(stream, fence)
    const fields = await client.hgetallBuffer(seenKey)
    await store.upkeep.dropIndex(stream)
    // As a process leaves it that ends after the first of several scripts.
    for (const [field, value] of Object.entries(fields)) await client.hset(seenKey, field, value)
    await client.hdel(seenKey, '600', '600.0')
    expect((await store.ledger.loadSeen(stream, [first, first + 600])).has(first)).toBe(true)
    expect(await store.ledger.isIndexDropped(stream)).toBe(true)
  })
})
