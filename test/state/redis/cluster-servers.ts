import type { Redis } from 'ioredis'
import { startRedis, type TestRedisServer } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { clientOf } from './opening.ts'

const slots = 16_384

export interface ClusterNode extends TestRedisServer {
  readonly client: Redis
}

/** A cluster of primaries on loopback, which ends with the test or file. Its nodes keep what they acknowledged. */
export async function startCluster(count: number): Promise<readonly ClusterNode[]> {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000']
  const nodes: ClusterNode[] = []
  for (let index = 0; index < count; index++) {
    const server = await startRedis({ appendOnly: true, args })
    nodes.push({ ...server, client: clientOf(server.url) })
  }
  for (const [index, { client }] of nodes.entries()) {
    const [from, to] = [Math.floor((index * slots) / count), Math.floor(((index + 1) * slots) / count)]
    await client.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, at) => from + at))
    // Two nodes that begin at the same epoch quarrel for a while.
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
  }
  for (const { port } of nodes.slice(1)) await nodes[0]!.client.cluster('MEET', '127.0.0.1', port)
  for (const { client } of nodes)
    await waitFor(async () => /cluster_state:ok/.test(String(await client.call('CLUSTER', 'INFO'))), {
      what: 'a whole cluster',
    })
  return nodes
}
