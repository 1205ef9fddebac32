import { randomBytes } from 'node:crypto'
import { beforeAll, describe } from 'vitest'
import type { Records } from '../../../src/ports/records.ts'
import type { RedisServers } from '../../../src/domain/redis-servers.ts'
import { openRedisRecords } from '../../../src/state/redis/records.ts'
import { recordsContract, type OpenedRecords } from '../../contract/records.contract.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { redisAvailable, redisServerAvailable, useRedis } from '../../setup/redis.ts'
import { startCluster, type ClusterNode } from './cluster-servers.ts'
import { clientOf, createTold, stateAt } from './opening.ts'

/** `urls`: of all servers that may hold keys. */
async function open(state: RedisServers, urls: readonly string[]): Promise<OpenedRecords> {
  const clock = createFakeClock()
  const own: RedisServers = { ...state, keyPrefix: `${state.keyPrefix}-${randomBytes(4).toString('hex')}` }
  const opened: Records[] = []
  const reopen = async (): Promise<Records> => {
    const records = await openRedisRecords({
      state: own,
      clock,
      redisNow: clock.now,
      telemetry: createTold(),
    })
    opened.push(records)
    return records
  }
  return {
    records: await reopen(),
    reopen,
    clock,
    async backUp() {
      const clients = urls.map((url) => clientOf(url))
      const pattern = `{${own.keyPrefix}}:*`
      const dumps: { restore: () => Promise<unknown> }[] = []
      for (const client of clients)
        for (const key of await client.keys(pattern)) {
          const dump = await client.dumpBuffer(key)
          dumps.push({ restore: () => client.restore(key, 0, dump) })
        }
      return async () => {
        for (const client of clients) for (const key of await client.keys(pattern)) await client.unlink(key)
        for (const { restore } of dumps) await restore()
      }
    },
    async close() {
      for (const records of opened) await records.close()
    },
  }
}

describe.skipIf(!redisAvailable())('on one server', async () => {
  if (!redisAvailable()) return
  const { url, keyPrefix } = await useRedis()
  recordsContract('redis', () => open(stateAt(url, { keyPrefix }), [url]))
})

describe.skipIf(!redisServerAvailable())('on a cluster of three nodes', () => {
  let nodes: readonly ClusterNode[]
  beforeAll(async () => {
    nodes = await startCluster(3)
  })
  recordsContract('redis', () => {
    const urls = nodes.map(({ url }) => url)
    return open(stateAt(urls[0]!, { topology: 'cluster' }), urls)
  })
})
