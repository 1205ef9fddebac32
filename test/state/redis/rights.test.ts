import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { rightsIn } from '../../redis/rights.ts'
import { redisServerAvailable, startRedis } from '../../setup/redis.ts'
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
