import { beforeAll, describe, expect, it } from 'vitest'
import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { buildCommit, buildHolder, buildStream } from '../../contract/checkpoint-store/builders.ts'
import { redisServerAvailable } from '../../setup/available.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { openRedisStore } from '../../setup/stores.ts'
import type { RedisServers } from '../../../src/domain/redis-servers.ts'
import { systemClock } from '../../../src/clock.ts'
import { startCluster, type ClusterNode } from './cluster-servers.ts'
import { contractStore, createTold, openAt, stateAt } from './opening.ts'

describe.skipIf(!redisServerAvailable())('on a cluster of three nodes', () => {
  let nodes: readonly ClusterNode[]
  let state: RedisServers
  beforeAll(async () => {
    nodes = await startCluster(3)
    // One node is enough to find the others.
    state = stateAt(`redis://127.0.0.1:${nodes[0]!.port}/0`, { topology: 'cluster', keyPrefix: 'shieldlog' })
  })

  checkpointStoreContract('redis', () => contractStore(state)(), 15)

  const streams = Array.from({ length: 30 }, (_, zone) => buildStream({ zone: zone + 1 }))

  it('is distinguished from a single server, with the remedy', async () => {
    const options = { clock: systemClock, deadLetterMaxBytes: 1e9, telemetry: createTold() }
    for (const { port } of nodes)
      await expect(
        openRedisStore({ ...options, state: stateAt(`redis://127.0.0.1:${port}/0`) }),
      ).rejects.toMatchObject({
        kind: 'stop',
        code: 'store_refuses',
        message: expect.stringContaining('state.redis.cluster'),
      })
  })

  it('fails within seconds while a node is away, and works again by itself', async () => {
    const store = await openAt({ ...state, keyPrefix: 'away' })
    const holder = buildHolder('one')
    const fences = new Map<number, number>()
    for (const stream of streams) fences.set(stream.zone, (await store.ledger.take(stream, holder)).fence)
    const held = await Promise.all(nodes.map(async ({ client }) => (await client.keys('{away}:*')).length))
    const node = nodes[held.findIndex((keys) => keys > 0)]!
    await node.kill()
    const answers = await Promise.allSettled(
      streams.map((stream) => store.ledger.commit(buildCommit(stream, fences.get(stream.zone)!, 0))),
    )
    const failed = answers.filter((answer) => answer.status === 'rejected')
    expect(failed).toHaveLength(streams.length)
    for (const { reason } of failed)
      expect(reason).toMatchObject({ kind: 'retry', code: 'store_unavailable' })
    await node.restart()
    for (const stream of streams) {
      const commit = buildCommit(stream, fences.get(stream.zone)!, 0)
      const again = () => store.ledger.commit(commit).catch(() => undefined)
      expect(await waitFor(again, { what: 'the node' })).toBe('done')
    }
    expect(await store.catalogue.checkpoints()).toHaveLength(30)
  })
})
