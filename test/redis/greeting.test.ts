import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { Secret } from '../../src/domain/text/secret.ts'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { clientOf, createTold, openAt, refused, stateAt } from '../state/redis/opening.ts'

const printed = (['log', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name))
beforeEach(() => printed.forEach((spy) => spy.mockClear()))
// The console is no part of the log, which may be JSON.
afterEach(() => expect(printed.flatMap((spy) => spy.mock.calls)).toEqual([]))

/** A server that does this with each connection. */
async function serverThat(takes: (connection: Socket) => void): Promise<string> {
  const connections = new Set<Socket>()
  const server = createServer((connection) => {
    connections.add(connection.on('error', () => undefined))
    takes(connection)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const connection of connections) connection.destroy()
    server.close()
  })
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const protectedMode =
  '-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface. 1) Just disable protected mode\r\n'

test.each([
  ['in protected mode', protectedMode, /failed: DENIED Redis is running in protected mode; .*requirepass/],
  ['that has clients enough', '-ERR max number of clients reached\r\n', /max number of clients.*maxclients/],
])('a server %s, which answers unasked and closes, is told by its words', async (_, answer, message) => {
  const url = await serverThat((connection) => connection.end(answer))
  const states = [stateAt(url), stateAt(`${url}/2`, { password: new Secret('sesame') })]
  for (const state of states)
    await expect(openAt(state)).rejects.toMatchObject({ message: expect.stringMatching(message) as string })
})

test.each([
  [
    'HTTP',
    'HTTP/1.1 400 Bad Request\r\n\r\n',
    /: the answer is not one of Redis; check host and port, .* TLS/,
  ],
  ['TLS', '\u0015\u0003\u0003\u0000\u0002\u0002\u0016', /: the answer is not one of Redis; check .*rediss:/],
])('what speaks %s is told as no Redis', async (_, answer, message) => {
  const url = await serverThat((connection) => connection.once('data', () => connection.write(answer)))
  await expect(openAt(stateAt(url))).rejects.toMatchObject({
    kind: 'retry',
    message: expect.stringMatching(message) as string,
  })
})

test('a server that waits for more of what is TLS to it is told with what to check', async () => {
  const url = await serverThat((connection) => connection.resume())
  const tls = { ca: undefined, cert: undefined, key: undefined }
  await expect(openAt(stateAt(url, { tls }))).rejects.toMatchObject({
    message: expect.stringMatching(/: there is no connection yet; check .*rediss:/) as string,
  })
})

test.skipIf(!redisServerAvailable())('a password too many, and a user without INFO, are taken', async () => {
  const server = await startRedis({ args: ['--appendonly', 'yes'] })
  await openAt(stateAt(server.url, { password: new Secret('sesame') }))
  await clientOf(server.url).call('ACL', 'SETUSER', 'mute', 'on', '>pass', '~*', '+@all', '-info')
  const telemetry = createTold()
  const user = { username: 'mute', password: new Secret('pass') }
  await openAt(stateAt(server.url, user), { telemetry })
  expect(telemetry.told).toMatchObject([{ text: expect.stringMatching(/eviction policy/) as string }])
  // Whoever is refused altogether gets no warning of that first.
  const wrong = { username: 'mute', password: new Secret('wrong') }
  await expect(openAt(stateAt(server.url, wrong), { telemetry })).rejects.toMatchObject(refused(/WRONGPASS/))
  expect(telemetry.told).toHaveLength(1)
})
