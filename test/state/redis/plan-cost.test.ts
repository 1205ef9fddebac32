import { describe, expect, it } from 'vitest'
import type { Backfill } from '../../../src/domain/plan/backfill.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import type { Store } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildHolder,
  buildStream,
} from '../../contract/checkpoint-store/builders.ts'
import { redisServerAvailable, startRedis } from '../../setup/redis.ts'
import { clientOf, openAt, stateAt } from './opening.ts'

const holder = buildHolder('one')

async function complete(store: Store, zone: number): Promise<void> {
  const stream = buildStream({ zone })
  const { fence, checkpoint } = await store.ledger.take(stream, holder)
  const commit = checkpoint?.commit ?? 0
  const next = buildCheckpoint(stream, commit + 1, { ended: { as: 'complete', atMs: 5 } })
  await store.ledger.commit(buildCommit(stream, fence, commit, { next }))
  await store.ledger.release(stream, fence)
}

async function backfilled(store: Store, id: string, zones: number): Promise<void> {
  const { day } = buildStream()
  const streams = Array.from({ length: zones }, (_, zone) => ({
    stream: buildStream({ zone: zone + 1 }),
    state: 'queued' as const,
  }))
  const backfill: Backfill = { id, createdAtMs: 1, from: day, to: day, state: 'running', streams }
  await store.backfills.add(backfill)
  await store.backfills.setState(id, 'cancelled')
}

describe.skipIf(!redisServerAvailable())('what a plan reads each second', async () => {
  if (!redisServerAvailable()) return
  const server = await startRedis()
  const client = clientOf(server.url)

  const stats = async () => {
    const text = await client.info('stats')
    const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1])
    return { bytes: figure('total_net_output_bytes'), commands: figure('total_commands_processed') }
  }
  /** What the server sent, and how many commands it took, for the work alone. */
  async function costOf(work: () => Promise<unknown>): Promise<{ bytes: number; commands: number }> {
    const [first, before] = [await stats(), await stats()]
    await work()
    const after = await stats()
    const own = before.bytes - first.bytes
    return { bytes: after.bytes - before.bytes - own, commands: after.commands - before.commands - 1 }
  }

  it('does not depend on the number of complete streams and ended backfills', async () => {
    const store = await openAt(stateAt(server.url))
    const plan = async () => [
      await store.catalogue.checkpoints(),
      await store.catalogue.routes(),
      await store.backfills.list(),
    ]
    const costAt = async (streams: number, backfills: number) => {
      for (let zone = 1; zone <= streams; zone++) await complete(store, zone)
      for (let id = 1; id <= backfills; id++) await backfilled(store, `b${id}`, 100)
      await plan()
      return costOf(plan)
    }
    const few = await costAt(10, 1)
    const many = await costAt(300, 10)
    // Commands are scripts and what they call. The heads of ended backfills take some 60 bytes each.
    expect(many.commands).toBe(few.commands)
    expect(many.bytes).toBeLessThan(few.bytes + 10 * 100)
    expect(many.bytes).toBeLessThan(10 * 300)
  })

  it('is read at first in steps of a bounded number of streams', async () => {
    const state = stateAt(server.url)
    const store = await openAt(state)
    for (let zone = 1; zone <= 130; zone++) await complete(store, zone)
    const lists = async () =>
      Number(/cmdstat_mget:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
    const before = await lists()
    expect(await (await openAt(state)).catalogue.checkpoints()).toHaveLength(130)
    expect((await lists()) - before).toBe(3)
  })

  it('is only the stream that another process committed to', async () => {
    const state = stateAt(server.url)
    const [store, other] = [await openAt(state), await openAt(state)]
    for (let zone = 1; zone <= 50; zone++) await complete(store, zone)
    const before = new Map(
      (await store.catalogue.checkpoints()).map((each) => [streamKey(each.stream), each]),
    )
    await complete(other, 7)
    const cost = await costOf(async () => {
      for (const checkpoint of await store.catalogue.checkpoints()) {
        const known = before.get(streamKey(checkpoint.stream))
        if (checkpoint.stream.zone === 7) expect(checkpoint.commit).toBe(2)
        else expect(checkpoint).toBe(known)
      }
    })
    const text = JSON.stringify(before.get(streamKey(buildStream({ zone: 7 }))))
    expect(cost.bytes).toBeLessThan(text.length + 300)
  })
})
