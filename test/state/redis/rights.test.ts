import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { rightsIn } from '../../redis/rights.ts'
import { redisServerAvailable, startRedis } from '../../setup/redis.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { clientOf, contractStore, open, openAt, refused, stateAt } from './opening.ts'

describe.skipIf(!redisServerAvailable())('as a user with only the documented rights', async () => {
  if (!redisServerAvailable()) return
  const server = await startRedis({ args: ['--appendonly', 'yes'] })
  const client = clientOf(server.url)
  const words = rightsIn('src/state/redis/README.md', 'pass')
  expect(words).toContain('~{shieldlog}:*')
  // Each test of the contract has a prefix of its own.
  await client.call('ACL', 'SETUSER', 'shieldlog', ...words, '~{shieldlog-*}:*')
  const state = { keyPrefix: 'shieldlog', username: 'shieldlog', password: new Secret('pass') }

  checkpointStoreContract('redis', contractStore(stateAt(server.url, state)), 20)

  it('nothing was denied', async () => {
    await openAt(stateAt(`${server.url}/1`, state))
    expect(await client.call('ACL', 'LOG')).toEqual([])
  })

  it('gets an error that names missing rights', async () => {
    await client.call('ACL', 'SETUSER', 'few', 'on', '>pass', '~{shieldlog:few}:*', '+@all', '-hset')
    const few = stateAt(server.url, { ...state, username: 'few', keyPrefix: 'shieldlog:few' })
    await expect(open(few)).rejects.toMatchObject(refused(/commands and keys/))
    const elsewhere = stateAt(server.url, { ...state, keyPrefix: 'elsewhere' })
    await expect(open(elsewhere)).rejects.toMatchObject(refused(/commands and keys/))
  })
})

/** What the page tells to do so that the user outlives a restart of Redis. */
describe.skipIf(!redisServerAvailable())(
  'a user with the documented rights, after a restart of Redis',
  () => {
    const rights = rightsIn('docs/scaling-redis.md', 'pass')
    const state = { keyPrefix: 'shieldlog', username: 'shieldlog', password: new Secret('pass') }

    it('is gone if it was only set, and kept after ACL SAVE', async () => {
      const file = join(temporaryFolder(), 'users.acl')
      writeFileSync(file, '')
      const server = await startRedis({ appendOnly: true, args: ['--aclfile', file] })
      const admin = clientOf(server.url)
      await admin.call('ACL', 'SETUSER', 'shieldlog', ...rights)
      await openAt(stateAt(server.url, state))
      await server.kill()
      await server.restart()
      await expect(open(stateAt(server.url, state))).rejects.toMatchObject(refused(/WRONGPASS/))
      await admin.call('ACL', 'SETUSER', 'shieldlog', ...rights)
      await admin.call('ACL', 'SAVE')
      await server.kill()
      await server.restart()
      await openAt(stateAt(server.url, state))
    })

    it('is kept by a line of redis.conf', async () => {
      const server = await startRedis({ appendOnly: true, args: ['--user', 'shieldlog', ...rights] })
      await server.restart()
      await openAt(stateAt(server.url, state))
    })
  },
)
