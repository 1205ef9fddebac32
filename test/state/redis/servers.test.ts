import { readFileSync, writeFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import {
  buildCommit,
  buildHolder,
  buildDeadLetter,
  buildStream,
  commitOnce,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { redisAvailable, redisServerAvailable, startRedis, useRedis } from '../../setup/redis.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { clientOf, createTold, openAt, refused, stateAt } from './opening.ts'

describe.skipIf(!redisServerAvailable())('a server', async () => {
  if (!redisServerAvailable()) return
  const server = await startRedis({ args: ['--appendonly', 'yes'] })
  const client = clientOf(server.url)
  const stream = buildStream()
  const holder = buildHolder('one')

  it.each(['allkeys-lru', 'volatile-ttl', 'allkeys-random'])(
    'is refused with the eviction policy %s, and the remedy named',
    async (policy) => {
      await client.config('SET', 'maxmemory-policy', policy)
      await expect(openAt(stateAt(server.url))).rejects.toMatchObject(
        refused(/CONFIG SET maxmemory-policy noeviction/),
      )
      await client.config('SET', 'maxmemory-policy', 'noeviction')
      await openAt(stateAt(server.url))
    },
  )

  it('is refused once it has another eviction policy, seen within a minute and after a reconnect, until it is right', async () => {
    let aheadMs = 0
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs }
    const name = 'policy'
    const store = await openAt(stateAt(server.url, { keyPrefix: name }), { clock })
    const beat = () => store.ledger.heartbeat(holder).catch((error: unknown) => error)
    const setPolicy = (policy: string) => client.config('SET', 'maxmemory-policy', policy)
    const changes = [
      () => void (aheadMs += 60_000),
      async () => {
        const list = String(await client.client('LIST'))
        const ids = list.split('\n').filter((line) => line.includes(`name=${name} `))
        for (const line of ids) await client.client('KILL', 'ID', /id=(\d+)/.exec(line)![1]!)
      },
    ]
    for (const change of changes) {
      await setPolicy('allkeys-random')
      await change()
      await expect.poll(beat).toMatchObject(refused(/eviction policy is allkeys-random/))
      expect(await store.ledger.take(stream, holder).catch(String)).toContain('noeviction')
      await setPolicy('noeviction')
      aheadMs += 5_000
      await expect.poll(beat).toBeUndefined()
    }
  })

  it('causes a warning if it would lose data at a restart, and not otherwise', async () => {
    const telemetry = createTold()
    await openAt(stateAt(server.url), { telemetry })
    expect(telemetry.told).toEqual([])
    const forgetful = await startRedis()
    await openAt(stateAt(forgetful.url), { telemetry })
    expect(telemetry.told).toEqual([
      { name: 'Warned', about: 'state', text: expect.stringMatching(/appendonly yes/) },
    ])
  })

  it('causes a warning if it does not report its eviction policy', async () => {
    await client.call('ACL', 'SETUSER', 'mute', 'on', '>pass', '~*', '+@all', '-info')
    const telemetry = createTold()
    const state = stateAt(server.url, { username: 'mute', password: new Secret('pass') })
    await openAt(state, { telemetry })
    expect(telemetry.told).toContainEqual({
      name: 'Warned',
      about: 'state',
      text: expect.stringMatching(/eviction policy.*noeviction/),
    })
  })

  it('keeps nothing outside of its database and prefix', async () => {
    const store = await openAt(stateAt(`${server.url}/3`, { keyPrefix: 'mine' }))
    const { fence } = await store.ledger.take(stream, holder)
    await store.ledger.commit(buildCommit(stream, fence, 0, { seen: new Map([[7, packed(1, 1)]]) }))
    await store.ledger.heartbeat(holder)
    await client.select(3)
    const keys = await client.keys('*')
    await client.select(0)
    expect(keys.length).toBeGreaterThan(4)
    expect(keys.filter((key) => !key.startsWith('{mine}:'))).toEqual([])
    expect(await client.keys('{mine}:*')).toEqual([])
  })

  it.each([
    ['it has no such database', '/99', {}, /database number/],
    ['another program uses the keys', '', { keyPrefix: 'other' }, /another keyPrefix/],
    ['it is no cluster', '', { topology: 'cluster' }, /state\.redis\.url/],
  ] as const)('is refused if %s, with the remedy', async (_, database, more, remedy) => {
    await client.set('{other}:store', 'x')
    await expect(openAt(stateAt(`${server.url}${database}`, more))).rejects.toMatchObject(refused(remedy))
  })

  it.each([1, 7])(
    'is refused if another version created the state, with both numbers: %d',
    async (layout) => {
      const keyPrefix = `version-${layout}`
      await openAt(stateAt(server.url, { keyPrefix }))
      await client.hset(`{${keyPrefix}}:store`, 'store', JSON.stringify({ id: 'x', layout, floor: 0 }))
      await expect(openAt(stateAt(server.url, { keyPrefix }))).rejects.toMatchObject(
        refused(new RegExp(`schema ${layout}, .*supports only schema 4: run the version that made it`)),
      )
    },
  )

  it('creates no store if none may be created', async () => {
    const state = stateAt(server.url, { keyPrefix: 'none' })
    await expect(openAt(state, { create: false })).rejects.toMatchObject({
      ...refused(/there is no state/),
      code: 'no_store',
    })
    expect(await client.keys('{none}:*')).toEqual([])
    const { id } = await openAt(state)
    expect((await openAt(state, { create: false })).id).toBe(id)
  })

  it('has one store for all processes that open it at once', async () => {
    const state = stateAt(server.url)
    const stores = await Promise.all([1, 2, 3, 4].map(() => openAt(state)))
    expect(new Set(stores.map(({ id }) => id)).size).toBe(1)
  })

  it('has another store after it was emptied, and refuses earlier commits', async () => {
    const own = await startRedis({ args: ['--appendonly', 'yes'] })
    const store = await openAt(stateAt(own.url))
    const before = await store.ledger.take(stream, holder)
    await store.ledger.commit(buildCommit(stream, before.fence, 0))
    await clientOf(own.url).flushall()
    expect(await store.ledger.commit(buildCommit(stream, before.fence, 1))).toBe('refused')
    const after = await store.ledger.take(stream, holder)
    expect(after.storeId).not.toBe(before.storeId)
    expect(after.checkpoint).toBeUndefined()
    expect(after.fence).toBeGreaterThan(before.fence)
    expect(await store.ledger.commit(buildCommit(stream, before.fence, 0))).toBe('refused')
    expect(await store.ledger.commit(buildCommit(stream, after.fence, 0))).toBe('done')
    expect(await store.catalogue.checkpoints()).toHaveLength(1)
  })

  it('uses its own clock, not that of the host', async () => {
    const state = stateAt(server.url)
    // A host that is an hour ahead finds nobody dead.
    const ahead = { ...systemClock, now: () => systemClock.now() + 3_600_000 }
    await (await openAt(state)).ledger.take(stream, holder)
    const other = await openAt(state, { clock: ahead })
    const failure: unknown = await other.ledger
      .take(stream, buildHolder('two'))
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'wait', code: 'held' })
    // Until when is said in the time of the host that is to wait.
    const { retryAt } = (failure as { details: { retryAt: number } }).details
    expect(retryAt - ahead.now()).toBeGreaterThan(0)
    expect(retryAt - ahead.now()).toBeLessThanOrEqual(20_000)
  })

  it('refuses a wrong password without showing it, and accepts one that was changed in its file', async () => {
    const own = await startRedis({ args: ['--appendonly', 'yes', '--requirepass', 'first'] })
    await expect(openAt(stateAt(own.url))).rejects.toMatchObject(refused(/user name and password/))
    const wrong = stateAt(own.url, { password: new Secret('sesame-open') })
    const failure = await openAt(wrong).catch(String)
    expect(failure).toMatch(/user name and password/)
    expect(failure).not.toContain('sesame')

    const file = join(temporaryFolder(), 'password')
    writeFileSync(file, 'first')
    const read = () => readFileSync(file, 'utf8')
    const store = await openAt(stateAt(own.url, { password: new Secret('first', read) }))
    const { fence } = await store.ledger.take(stream, holder)
    const admin = clientOf(own.url.replace('redis://', 'redis://:first@'))
    await admin.config('SET', 'requirepass', 'second')
    writeFileSync(file, 'second')
    // Connections that were let in stay until they break; readings that wait meanwhile fail no more than later ones.
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    const ended = new AbortController()
    const committed = store.ledger.commit(buildCommit(stream, fence, 0)).finally(() => ended.abort())
    const waiting: Promise<unknown>[] = []
    while (!ended.signal.aborted) {
      waiting.push(store.catalogue.sinks())
      await setImmediate()
    }
    expect(await committed).toBe('done')
    await Promise.all(waiting)
  })

  it('that is full refuses whole commits, and accepts them when there is space', async () => {
    const small = await startRedis({ args: ['--appendonly', 'yes'] })
    const admin = clientOf(small.url)
    const store = await openAt(stateAt(small.url))
    const { fence } = await store.ledger.take(stream, holder)
    await store.ledger.commit(buildCommit(stream, fence, 0))
    // Less than the server takes for itself.
    await admin.config('SET', 'maxmemory', '100kb')
    const commit = buildCommit(stream, fence, 1, {
      seen: new Map([[7, packed(1, 5_000)]]),
      deadLetters: [buildDeadLetter()],
    })
    await expect(store.ledger.commit(commit)).rejects.toMatchObject(refused(/raise its maxmemory/))
    expect((await store.ledger.read(stream))?.commit).toBe(1)
    expect((await store.ledger.loadSeen(stream, [7])).size).toBe(0)
    await admin.config('SET', 'maxmemory', '0')
    expect(await store.ledger.commit(commit)).toBe('done')
    expect((await store.ledger.loadSeen(stream, [7])).get(7)).toHaveLength(40_000)
  })
})

describe.skipIf(!redisAvailable())('a server that lost its latest writes', async () => {
  if (!redisAvailable()) return
  const { url, keyPrefix } = await useRedis()
  const client = clientOf(url)
  const stream = buildStream()
  /** Remembers the keys of a store; the returned function brings them back. */
  const backUp = async (prefix: string) => {
    const keys = await client.keys(`{${prefix}}:*`)
    const dumps = await Promise.all(keys.map(async (key) => [key, await client.dumpBuffer(key)] as const))
    return async () => {
      for (const [key, value] of dumps) await client.restore(key, 0, value, 'REPLACE')
    }
  }

  it('gives no fence a second time', async () => {
    const store = await openAt(stateAt(url, { keyPrefix }))
    await commitOnce(store, stream)
    const restore = await backUp(keyPrefix)
    // What follows lies within the second that the server loses.
    const lost = await commitOnce(store, stream, { seen: new Map([[1, packed(1, 3)]]) })
    await restore()
    const next = await store.ledger.take(stream, buildHolder('two'))
    expect(next.checkpoint?.commit).toBe(1)
    expect(next.fence).toBeGreaterThan(lost)
    expect(await store.ledger.commit(buildCommit(stream, next.fence, 1))).toBe('done')
    // The numbers of its commits fit again; only the fence tells that it builds on what is no more.
    expect(await store.ledger.commit(buildCommit(stream, lost, 2))).toBe('refused')
    expect(await store.ledger.holds(stream, lost, 2)).toBe(false)
  })
})
