import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { own } from '../../setup/leftovers.ts'
import { startProcess, type TestProcess } from '../../setup/processes.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { waitFor } from '../../setup/wait-for.ts'

const slots = 16_384
/** Each node listens at its port and, for the other nodes, 10,000 above it. */
const busOffset = 10_000

export interface ClusterNode {
  readonly port: number
  readonly client: Redis
  /** SIGKILL. */
  kill(): Promise<void>
  restart(): Promise<void>
}

/** A cluster of primaries on loopback, which ends with the test or file. Its nodes keep what they acknowledged. */
export async function startCluster(count: number): Promise<readonly ClusterNode[]> {
  const nodes: ClusterNode[] = []
  for (let index = 0; index < count; index++) nodes.push(await startNode())
  for (const [index, node] of nodes.entries()) {
    const [from, to] = [Math.floor((index * slots) / count), Math.floor(((index + 1) * slots) / count)]
    await node.client.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, at) => from + at))
    // Two nodes that begin at the same epoch quarrel for a while.
    await node.client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
  }
  for (const { port } of nodes.slice(1)) await nodes[0]!.client.cluster('MEET', '127.0.0.1', port)
  for (const { client } of nodes)
    await waitFor(async () => /cluster_state:ok/.test(String(await client.call('CLUSTER', 'INFO'))), {
      what: 'a whole cluster',
    })
  return nodes
}

async function startNode(): Promise<ClusterNode> {
  const folder = temporaryFolder()
  const port = await freeRoute()
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always']
  const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000']
  let server: TestProcess
  const start = async (): Promise<void> => {
    server = startProcess('redis-server', [...place, ...durable, ...cluster], { mustEnd: false })
    await server.waitForLine(/Ready to accept connections/)
  }
  await start()
  const client = new Redis({ port, retryStrategy: () => 50 })
  client.on('error', () => {})
  own({ what: 'a client', isLeft: () => true, remove: async () => client.disconnect(), isFault: false })
  return { port, client, kill: async () => void (await server.kill()), restart: start }
}

async function freeRoute(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(15_000, 30_000)
    if ((await isFree(port)) && (await isFree(port + busOffset))) return port
  }
  throw new Error('no two free ports for a node')
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}
