import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Redis } from 'ioredis'
import { systemClock } from '../../src/clock.ts'
import type { Failure } from '../../src/domain/failure.ts'
import { tlsIn, type Tls } from '../../src/domain/tls.ts'
import { TlsConfig } from '../../src/fields/pem-files.ts'
import { connectRedis } from '../../src/redis/connection.ts'
import { connect } from '../../src/sinks/syslog/connection.ts'
import { createDispatcher } from '../../src/transport/dispatcher.ts'
import { exchange } from '../../src/transport/exchange.ts'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { serveTls } from '../setup/http-server.ts'
import { startProxy } from '../setup/proxy.ts'
import { strangeFiles } from '../setup/strange-files.ts'
import { pem, tlsFixture } from '../setup/tls.ts'
import { waitFor } from '../setup/wait-for.ts'
import { stateAt } from '../state/redis/settings.ts'
import { receiver } from '../sinks/syslog/receiver.ts'

afterEach(() => void vi.unstubAllEnvs())

const never = new AbortController().signal

function requester(tls: Tls) {
  const dispatcher = createDispatcher({ tls })
  onTestFinished(() => dispatcher.destroy())
  return async (url: string) => {
    const request = { origin: url, path: '/', method: 'GET', headers: {} } as const
    const limits = { what: 'the request', timeoutMs: 5_000, maxBytes: 100, clock: systemClock }
    return exchange(dispatcher, request, limits, never).then(
      ({ status }) => status,
      (error: unknown) => (error as Failure).code,
    )
  }
}

test.each(['directly', 'through a proxy'])(
  'certificates and authorities that change are used by the next request %s',
  async (way) => {
    const server = await serveTls((_, response) => response.end('well'), true)
    const proxy = await startProxy()
    vi.stubEnv('HTTPS_PROXY', way === 'directly' ? undefined : proxy.url)
    vi.stubEnv('NO_PROXY', undefined)
    const { settings, put } = strangeFiles()
    const get = requester(TlsConfig.parse(settings))
    expect(await get(server.url)).toBe('tls')
    put('ca.pem')
    expect(await get(server.url)).not.toBe(200)
    put('client.pem')
    put('client.key')
    expect(await get(server.url)).toBe(200)
    // Without a change connections stay, of which a request that follows at once may need a second one.
    const before = server.connections()
    for (let times = 0; times < 4; times++) expect(await get(server.url)).toBe(200)
    expect(server.connections() - before).toBeLessThan(2)
    put('ca.pem', tlsFixture('client.pem'))
    expect(await get(server.url)).toBe('tls')
    expect(proxy.tunnels.length > 0).toBe(way !== 'directly')
  },
)

test('a pair that does not match keeps the old one, and says so once', async () => {
  const server = await serveTls((_, response) => response.end('well'), true)
  const { settings, put, at } = strangeFiles()
  for (const name of ['ca.pem', 'client.pem', 'client.key']) put(name)
  const tls = TlsConfig.parse(settings)
  const told: string[] = []
  for (const each of tlsIn({ sinks: [{ tls }] })) each.tell = (problem) => void told.push(problem)
  const get = requester(tls)
  expect(await get(server.url)).toBe(200)
  put('client.key', tlsFixture('server.key'))
  expect([await get(server.url), await get(server.url)]).toEqual([200, 200])
  expect(told).toEqual([
    expect.stringMatching(/^the key and certificate cannot be used: .*from before stay in use$/),
  ])
  writeFileSync(at('client.pem'), '')
  expect(await get(server.url)).toBe(200)
  expect(told[1]).toContain(`${at('client.pem')} is empty`)
  put('client.pem')
  put('client.key')
  expect(await get(server.url)).toBe(200)
  expect(told).toHaveLength(2)
})

test('the next connection of syslog uses certificates that have changed', async () => {
  const options = { key: pem('server.key'), cert: pem('server.pem'), ca: pem('ca.pem'), requestCert: true }
  const { port, close } = await receiver({ tls: { ...options, rejectUnauthorized: true } })
  onTestFinished(close)
  const { settings, put } = strangeFiles()
  const to = {
    host: 'localhost',
    port,
    protocol: 'tls',
    timeoutSeconds: 5,
    tls: TlsConfig.parse(settings),
  } as const
  await expect(connect(to, 'sink one', systemClock, never)).rejects.toMatchObject({ code: 'tls' })
  for (const name of ['ca.pem', 'client.pem', 'client.key']) put(name)
  const connection = await connect(to, 'sink one', systemClock, never)
  expect(connection.found).toContain('connected over TLS')
  connection.close()
})

test.skipIf(!redisServerAvailable())('Redis reconnects with certificates that have changed', async () => {
  const args = ['--tls-cert-file', tlsFixture('server.pem'), '--tls-key-file', tlsFixture('server.key')]
  const server = await startRedis({ args: [...args, '--tls-ca-cert-file', tlsFixture('ca.pem')] })
  const plain = connectRedis(stateAt(server.url), { manner: 'prompt', name: 'test' }, () => undefined)
  onTestFinished(() => plain.disconnect())
  const port = await waitFor(
    async () => {
      const port = 15_000 + Math.floor(Math.random() * 15_000)
      await (plain as Redis).config('SET', 'tls-port', String(port))
      return port
    },
    { what: 'a free port' },
  )
  const { settings, put } = strangeFiles()
  const errors: string[] = []
  const state = stateAt(`redis://127.0.0.1:${port}`, { tls: TlsConfig.parse(settings) })
  const client = connectRedis(
    state,
    { manner: 'patient', name: 'test' },
    ({ message }) => void errors.push(message),
  )
  onTestFinished(() => client.disconnect())
  await waitFor(() => errors.length > 0, { what: 'a handshake that fails' })
  for (const name of ['ca.pem', 'client.pem', 'client.key']) put(name)
  expect(await client.ping()).toBe('PONG')
})

test('a file that cannot be looked at any more leaves the one from before in use, and is told', () => {
  const files = strangeFiles()
  const tls = TlsConfig.parse(files.settings)
  const before = tls.latest!()
  const told: string[] = []
  tls.tell = (problem) => void told.push(problem)
  rmSync(files.at('ca.pem'))
  symlinkSync(files.at('ca.pem'), files.at('ca.pem'))
  expect(tls.latest!()).toBe(before)
  expect(tls.latest!()).toBe(before)
  expect(told).toEqual([
    expect.stringMatching(/^caFile .*ca\.pem cannot be read: .*\(ELOOP\); the ones from before/),
  ])
})
