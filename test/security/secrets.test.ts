import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Secret } from '../../src/domain/text/secret.ts'
import { connected } from '../redis/connected.ts'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openAt, stateAt } from '../state/redis/opening.ts'
import { answerOf, everythingFailed, leakWorld } from './leak-world.ts'

const paths = ['/metrics', '/status', '/readyz', '/healthz']
const addressLine = /(http:\/\/127\.0\.0\.1:\d+)/

test('no secret of the configuration or of a request appears anywhere, whatever fails', async () => {
  const { canaries, place, env, token, configure, places, ask, run, expectNoLeak } = await leakWorld()
  const junk = canaries.make('junk', true)
  const child = place.start(['run'], { env })
  const [, address = ''] = await child.waitForLine(addressLine)
  await everythingFailed(address, token, child.stderr)
  await ask(address, [...paths, '/'])
  places.set('/status for nobody', await answerOf(address, '/status', canaries.make('wrong token', true)))
  const proxies = [`http://user:${junk}@[no-address`, `user:${junk}@proxy:3128`]
  await Promise.all([
    run([
      'status --json',
      'status',
      'dead-letters list --json',
      'config print',
      'check',
      'fetch --zone 101 --day today',
      'fetch --zone 101 --day today --format raw',
      'dead-letters show entry-3',
      'fetch --zone 102 --day today',
    ]),
    ...proxies.map((proxy, index) => run(['check'], { HTTP_PROXY: proxy }, ` with junk proxy ${index}`)),
  ])
  expect((await child.kill('SIGTERM'))?.code).toBe(0)
  places.set('stdout', child.stdout()).set('stderr', child.stderr())

  // What a person may write in the wrong place.
  configure({
    server: { port: '${JUNK}', token: [junk] },
    poll: { everySeconds: '${JUNK}' },
    api: { baseUrl: `http://user:${junk}@127.0.0.1`, accessKey: { key: junk } },
    state: `redis://user:${junk}@h/x`,
    log: { level: '${JUNK}' },
  })
  await run(['run'], { JUNK: junk })
  writeFileSync(place.configFile, `api: { accessKey: "${junk}\n sinks: [`)
  await run(['check'], {}, ' of junk that is no YAML')
  expectNoLeak([place.folder])
  const names = [...places.keys()]
  for (const kind of ['state.db', '.ndjson']) expect(names.some((name) => name.endsWith(kind))).toBe(true)
  expect(canaries.leaks(new Map([['a proof', join('x', junk)]]))).toHaveLength(1)
})

test.skipIf(!redisServerAvailable())('nor over Redis', async () => {
  const { canaries, place, env, token, configure, places, ask, run, expectNoLeak } = await leakWorld()
  // Without compression, so that what is in a dump can be read.
  const server = await startRedis({ appendOnly: true, args: ['--rdbcompression', 'no'] })
  const admin = connected(server.url)
  const password = canaries.make('Redis password')
  const user = (given: string) =>
    admin.call('ACL', 'SETUSER', 'shipper', 'reset', 'on', `>${given}`, '~*', '&*', '+@all')
  await user(password)
  const urlWith = (given: string, port = server.port, scheme = 'redis') =>
    `${scheme}://shipper:${encodeURIComponent(given)}@127.0.0.1:${port}/0`
  configure({ state: urlWith(password) })

  const processes = ['scheduler', 'worker'].map((role) => place.start(['run', '--role', role], { env }))
  const output = () => processes.map((each) => each.stderr()).join('')
  const addresses = await Promise.all(
    processes.map(async (each) => (await each.waitForLine(addressLine))[1] ?? ''),
  )
  await everythingFailed(addresses[0]!, token, output)
  const askAll = async (when: string) => {
    for (const [index, from] of addresses.entries()) await ask(from, paths, `${when}: of ${index} `)
  }
  await askAll('while it runs')
  for (const key of await admin.keys('*')) places.set(`key ${key}`, (await admin.dumpBuffer(key)) ?? '')
  // Checkpoints are deflated.
  const store = await openAt(
    stateAt(server.url, { keyPrefix: 'shieldlog', username: 'shipper', password: new Secret(password) }),
  )
  const [checkpoints, deadLetters] = [await store.catalogue.checkpoints(), await store.deadLetters.list()]
  expect([checkpoints.length > 0, deadLetters.length]).toEqual([true, 1])
  const gaps = await store.catalogue.gaps()
  places.set('what the store keeps', JSON.stringify({ checkpoints, deadLetters, gaps }))
  await run(['status --json', 'dead-letters list', 'config print'])

  // The password is changed under the feet of both: what they know is refused from now on.
  await user('another')
  await admin.call('CLIENT', 'KILL', 'USER', 'shipper')
  const areRefused = () => processes.every((each) => each.stderr().includes('WRONGPASS'))
  await waitFor(areRefused, { what: () => output().slice(-1500) })
  await askAll('refused')
  await Promise.all(processes.map((each) => each.kill('SIGTERM')))
  for (const each of processes) places.set(`process ${each.pid}`, `${each.stdout()}\n${each.stderr()}`)

  const elsewhere = canaries.make('password of another Redis')
  writeFileSync(join(place.folder, 'redis-password'), `${elsewhere}\n`)
  await Promise.all([
    run(['check'], { SHIELDLOG_STATE: urlWith(elsewhere) }, ' refused'),
    run(['status'], { SHIELDLOG_STATE: urlWith(elsewhere, 1) }, ' not there'),
    run(['status'], { SHIELDLOG_STATE: urlWith(elsewhere, server.port, 'rediss') }, ' no TLS'),
  ])
  const node = [`127.0.0.1:${server.port}`]
  const states = {
    sentinel: { sentinels: node, name: 'x', username: 'shipper', passwordFile: './redis-password' },
    cluster: { cluster: node, username: 'shipper', password: elsewhere },
  }
  for (const [kind, redis] of Object.entries(states)) {
    configure({ state: { redis } })
    await run(['status'], {}, ` no ${kind}`)
  }
  for (const name of [
    'check refused',
    'status not there',
    'status no TLS',
    'status no sentinel',
    'status no cluster',
  ])
    expect(String(places.get(name)), name).toMatch(/127\.0\.0\.1:\d+.* failed: /)
  expectNoLeak([place.folder, server.folder], ['redis-password'])
  const names = [...places.keys()]
  expect(names.filter((name) => name.startsWith('key ')).length).toBeGreaterThan(20)
  expect(names.some((name) => name.includes('appendonly'))).toBe(true)
})
