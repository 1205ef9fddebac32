import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../src/domain/text/secret.ts'
import { own } from '../setup/leftovers.ts'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openAt, stateAt } from '../state/redis/opening.ts'
import { filesBelow } from './canaries.ts'
import { answerOf, everythingFailed, leakWorld } from './leak-world.ts'

describe.skipIf(!redisServerAvailable())('over Redis', () => {
  test('no secret of the configuration appears anywhere, whatever fails', async () => {
    const { canaries, place, env, token, collector, secretFiles, configure, arrived } = await leakWorld()
    // Without compression, so that what is in a dump can be read.
    const server = await startRedis({ appendOnly: true, args: ['--rdbcompression', 'no'] })
    const admin = new Redis(server.url)
    own({ what: 'a client', isLeft: () => true, remove: async () => admin.disconnect(), isFault: false })
    const password = canaries.make('Redis password')
    const user = (given: string) =>
      admin.call('ACL', 'SETUSER', 'shipper', 'reset', 'on', `>${given}`, '~*', '&*', '+@all')
    await user(password)
    const urlWith = (given: string, port = server.port, scheme = 'redis') =>
      `${scheme}://shipper:${encodeURIComponent(given)}@127.0.0.1:${port}/0`
    configure({ state: urlWith(password) })

    const places = new Map<string, string | Buffer>()
    const scheduler = place.start(['run', '--role', 'scheduler'], { env })
    const worker = place.start(['run', '--role', 'worker'], { env })
    const output = () => `${scheduler.stderr()}${worker.stderr()}`
    const addresses = await Promise.all(
      [scheduler, worker].map(
        async (each) => (await each.waitForLine(/(http:\/\/127\.0\.0\.1:\d+)/))[1] ?? '',
      ),
    )
    const [address = ''] = addresses
    await everythingFailed(address, token, output)
    const askAll = async (when: string) => {
      for (const [index, from] of addresses.entries())
        for (const path of ['/metrics', '/status', '/readyz', '/healthz'])
          places.set(`${when}: ${path} of ${index}`, await answerOf(from, path, token))
    }
    await askAll('while it runs')

    for (const key of await admin.keys('*')) places.set(`key ${key}`, (await admin.dumpBuffer(key)) ?? '')
    // Checkpoints are deflated.
    const store = await openAt(
      stateAt(server.url, { keyPrefix: 'shieldlog', username: 'shipper', password: new Secret(password) }),
    )
    const kept = {
      checkpoints: await store.catalogue.checkpoints(),
      deadLetters: await store.deadLetters.list(),
      gaps: await store.catalogue.gaps(),
    }
    expect([kept.checkpoints.length > 0, kept.deadLetters.length]).toEqual([true, 1])
    places.set('what the store keeps', JSON.stringify(kept))

    const run = async (
      command: readonly string[],
      name: string,
      more: Readonly<Record<string, string>> = {},
    ) => {
      const { stdout, stderr } = await place.ended(command, { env: { ...env, ...more } })
      expect(`${stdout}${stderr}`, name).not.toBe('')
      places.set(name, `${stdout}\n${stderr}`)
    }
    await Promise.all(
      [
        ['status', '--json'],
        ['dead-letters', 'list'],
        ['config', 'print'],
      ].map((each) => run(each, each.join(' '))),
    )

    // The password is changed under the feet of both: what they know is refused from now on.
    await user('another')
    await admin.call('CLIENT', 'KILL', 'USER', 'shipper')
    const areRefused = () => [scheduler, worker].every((each) => each.stderr().includes('WRONGPASS'))
    await waitFor(areRefused, { what: () => output().slice(-1500) })
    await askAll('refused')
    const processes = [scheduler, worker]
    await Promise.all(processes.map((each) => each.kill('SIGTERM')))
    for (const each of processes) places.set(`process ${each.pid}`, `${each.stdout()}\n${each.stderr()}`)

    const elsewhere = canaries.make('password of another Redis')
    writeFileSync(join(place.folder, 'redis-password'), `${elsewhere}\n`)
    const urls = {
      refused: urlWith(elsewhere),
      'not there': urlWith(elsewhere, 1),
      'no TLS': urlWith(elsewhere, server.port, 'rediss'),
    }
    await Promise.all(
      Object.entries(urls).map(([name, url]) =>
        run([name === 'refused' ? 'check' : 'status'], name, { SHIELDLOG_STATE: url }),
      ),
    )
    const node = [`127.0.0.1:${server.port}`]
    const states = {
      'no sentinel': { sentinels: node, name: 'x', username: 'shipper', passwordFile: './redis-password' },
      'no cluster': { cluster: node, username: 'shipper', password: elsewhere },
    }
    for (const [name, redis] of Object.entries(states)) {
      configure({ state: { redis } })
      await run(['status'], name)
    }
    for (const name of [...Object.keys(urls), ...Object.keys(states)])
      expect(String(places.get(name)), name).toMatch(/127\.0\.0\.1:\d+.* failed: /)
    collector.texts.forEach((text, index) => {
      if (index % 2 === 1) places.set(`spans ${index}`, text)
    })
    const files = [
      ...filesBelow(place.folder, [...secretFiles, 'redis-password']),
      ...filesBelow(server.folder, []),
    ]
    for (const [path, bytes] of files) places.set(path, bytes)
    const names = [...places.keys()]
    expect(names.filter((name) => name.startsWith('key ')).length).toBeGreaterThan(20)
    expect(names.some((name) => name.includes('appendonly'))).toBe(true)
    for (const [secret, heard] of arrived()) expect(heard.includes(secret), secret).toBe(true)
    expect(canaries.leaks(places)).toEqual([])
  })
})
