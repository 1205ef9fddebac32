import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { buildCommit, buildHolder, buildStream, packed } from '../../contract/checkpoint-store/builders.ts'
import { startProcess } from '../../setup/processes.ts'
import { redisServerAvailable, startRedis, type TestRedisServer } from '../../setup/redis.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { clientOf, openAt, stateAt } from './opening.ts'

/** Its port. It takes a primary for dead after a second. */
async function startSentinel(primary: TestRedisServer, password: string): Promise<number> {
  const file = join(temporaryFolder(), 'sentinel.conf')
  writeFileSync(
    file,
    [
      `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
      `sentinel auth-pass main ${password}`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 5000',
      'bind 127.0.0.1',
      `requirepass ${password}`,
    ].join('\n'),
  )
  // Port 0 would mean none at all, so a server tells one that is free and leaves it.
  const placeholder = await startRedis()
  await placeholder.stop()
  const args = [file, '--sentinel', '--port', String(placeholder.port)]
  const sentinel = startProcess('redis-server', args, { mustEnd: false })
  await sentinel.waitForLine(/\+monitor master main/)
  return placeholder.port
}

const clientAt = (port: number, password: string) => clientOf(`redis://:${password}@127.0.0.1:${port}`)

describe.skipIf(!redisServerAvailable())('behind sentinels', () => {
  it('continues with the new primary after a failover', async () => {
    const password = 'secret-word'
    const args = ['--requirepass', password, '--masterauth', password]
    const primary = await startRedis({ appendOnly: true, args })
    const replica = await startRedis({
      appendOnly: true,
      args: [...args, '--replicaof', '127.0.0.1', String(primary.port)],
    })
    const admin = clientAt(replica.port, password)
    await waitFor(async () => (await admin.info('replication')).includes('master_link_status:up'), {
      what: 'the replica',
    })
    const port = await startSentinel(primary, password)
    const sentinel = clientAt(port, password)
    await waitFor(
      async () =>
        JSON.stringify(await sentinel.call('SENTINEL', 'replicas', 'main')).includes(`${replica.port}`),
      {
        what: 'the sentinel to know the replica',
      },
    )

    const state = stateAt(`redis://127.0.0.1:${port}`, {
      topology: 'sentinel',
      primary: 'main',
      password: new Secret(password),
    })
    const store = await openAt(state)
    const stream = buildStream()
    const { fence } = await store.ledger.take(stream, buildHolder('one'))
    const commitOf = (commits: number) =>
      buildCommit(stream, fence, commits, { seen: new Map([[commits, packed(commits * 10, 10)]]) })
    for (let commits = 0; commits < 20; commits++)
      expect(await store.ledger.commit(commitOf(commits))).toBe('done')
    // What was acknowledged must be there for the failover to keep it.
    await waitFor(
      async () => (await admin.hexists(`{${state.keyPrefix}}:checkpoints`, '101/2026-11-20/archive')) === 1,
      {
        what: 'the copy',
      },
    )
    await waitFor(async () => (await clientAt(primary.port, password).wait(1, 1000)) === 1, {
      what: 'the copy',
    })
    await primary.kill()
    const again = () => store.ledger.commit(commitOf(20)).catch(() => undefined)
    expect(await waitFor(again, { what: 'the failover' })).toBe('done')
    expect((await store.ledger.read(stream))?.commit).toBe(21)
    expect(await store.ledger.minutes(stream)).toHaveLength(21)
    expect(await admin.hexists(`{${state.keyPrefix}}:checkpoints`, '101/2026-11-20/archive')).toBe(1)

    // The old primary comes back as a replica; who is still connected to one is moved on, too.
    await primary.restart()
    expect(await store.ledger.commit(commitOf(21))).toBe('done')
  })
})
