import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { type Dispatcher, request } from 'undici'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDispatcher, type DispatcherOptions } from '../../src/transport/dispatcher.ts'
import { networkFailure } from '../../src/transport/network-failure.ts'
import { readBody } from '../../src/transport/body.ts'
import { serveHttp, serveTls } from '../setup/http-server.ts'
import { startProxy } from '../setup/proxy.ts'
import { pem } from '../setup/tls.ts'

afterEach(() => void vi.unstubAllEnvs())

function dispatching(options: Partial<DispatcherOptions> = {}): Dispatcher {
  const dispatcher = createDispatcher({ connections: 2, ...options })
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

async function get(dispatcher: Dispatcher, url: string): Promise<string> {
  const signal = AbortSignal.timeout(100_000)
  const { body, headers } = await request(url, { dispatcher, signal })
  return (await readBody(body, { maxBytes: 1000, encoding: headers['content-encoding'] })).toString()
}

async function failureOf(dispatcher: Dispatcher, url: string) {
  const answered = get(dispatcher, url).then(() => undefined)
  return await answered.catch((error: unknown) => networkFailure(error, 'GET'))
}

const tls = { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') }

describe('dispatcher', () => {
  it('reuses its connections, and opens no more than allowed', async () => {
    const server = await serveHttp((_, response) => setImmediate(() => response.end('hello')))
    const dispatcher = dispatching({ connections: 2 })
    for (let round = 0; round < 3; round++)
      await Promise.all(Array.from({ length: 12 }, () => get(dispatcher, server.url)))
    expect(server.connections()).toBeLessThanOrEqual(2)
  })

  it('trusts a private CA only if it is configured, and sends a client certificate', async () => {
    const open = await serveTls((_, response) => response.end('confirmed'))
    expect(await get(dispatching({ tls: { ca: tls.ca } }), open.url)).toBe('confirmed')
    const failure = await failureOf(dispatching(), open.url)
    expect(failure).toMatchObject({ code: 'tls', kind: 'retry' })
    expect(failure?.message).toMatch(/UNABLE_TO_VERIFY|SELF_SIGNED|UNABLE_TO_GET/)
    const closed = await serveTls((_, response) => response.end('known'), true)
    expect(await get(dispatching({ tls }), closed.url)).toBe('known')
    const refused = await failureOf(dispatching({ tls: { ca: tls.ca } }), closed.url)
    expect(['tls', 'network']).toContain(refused?.code)
  })

  it('tunnels through the proxy of the environment, CA and client certificate included', async () => {
    const server = await serveTls((_, response) => response.end('tunnelled'), true)
    const proxy = await startProxy()
    vi.stubEnv('HTTPS_PROXY', proxy.url)
    expect(await get(dispatching({ tls }), server.url)).toBe('tunnelled')
    expect(proxy.tunnels).toEqual([`localhost:${server.port}`])
  })

  it('sends plain requests to the proxy, and none that NO_PROXY names', async () => {
    const server = await serveHttp((_, response) => response.end('direct'))
    const proxy = await startProxy()
    vi.stubEnv('HTTP_PROXY', proxy.url)
    expect(await get(dispatching(), `${server.url}/a`)).toBe('forwarded')
    expect(proxy.tunnels).toEqual([`${server.url}/a`])
    vi.stubEnv('NO_PROXY', '127.0.0.1')
    expect(await get(dispatching(), server.url)).toBe('direct')
  })

  it('reports that the proxy refuses the tunnel', async () => {
    const proxy = await startProxy(407)
    vi.stubEnv('HTTPS_PROXY', proxy.url)
    const failure = await failureOf(dispatching(), 'https://localhost:1/')
    expect(failure).toMatchObject({ code: 'network', kind: 'retry' })
    expect(failure?.message).toContain('the proxy answered 407')
  })

  it('reports that the proxy cannot be reached, and not the destination', async () => {
    vi.stubEnv('HTTPS_PROXY', 'http://user:hunter2@127.0.0.1:1')
    const failure = await failureOf(dispatching(), 'https://localhost:2/')
    expect(failure).toMatchObject({ code: 'network', kind: 'retry' })
    expect(failure?.message).toMatch(
      /cannot connect to the proxy: connection refused \(ECONNREFUSED\); check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY$/,
    )
  })

  it.each([
    ['HTTPS_PROXY', 'not a proxy', /it is no URL; HTTPS_PROXY.*take a URL/],
    ['ALL_PROXY', 'socks5://user:hunter2@127.0.0.1:1080', /it is a SOCKS proxy/],
  ])('reports an invalid proxy address in %s, without its password', (name, value, words) => {
    vi.stubEnv(name, value)
    expect(() => createDispatcher({ connections: 1 })).toThrow(words)
    expect(() => createDispatcher({ connections: 1 })).not.toThrow(/hunter2/)
  })

  it('reads headers of 60 kB, and names larger ones', async () => {
    let bytes = 60_000
    const server = await serveHttp((_, response) =>
      response.setHeader('set-cookie', 'x'.repeat(bytes)).end('read'),
    )
    const dispatcher = dispatching()
    expect(await get(dispatcher, server.url)).toBe('read')
    bytes = 70_000
    expect((await failureOf(dispatcher, server.url))?.message).toMatch(/larger than 64 KiB/)
  })

  it('gives a reader that is slower than the connection all of an answer', async () => {
    const sent = 'x'.repeat(1_000_000)
    const server = await serveHttp((_, response) => response.setHeader('connection', 'close').end(sent))
    const { body } = await request(server.url, { dispatcher: dispatching() })
    let received = ''
    for await (const piece of body) {
      received += String(piece)
      for (let turn = 0; turn < 10; turn++) await nextTurn()
    }
    expect(received === sent).toBe(true)
  })

  describe('a server that sends 100 Continue unasked', () => {
    const [unasked, body] = ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 100 Continue']
    const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

    /** The pieces reach the client one by one; the connection stays open for the next request. */
    async function serveRaw(pieces: readonly string[]): Promise<string> {
      const answerIn = async (socket: Socket) => {
        for (const piece of pieces) {
          socket.write(piece)
          await nextTurn()
        }
      }
      const server = createServer((socket) => {
        socket.on('error', () => undefined).setNoDelay()
        socket.on('data', () => void answerIn(socket))
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      onTestFinished(() => void server.close())
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    }

    it.each([
      ['with the answer', [unasked + answer]],
      ['before the answer', [unasked, answer]],
      ['twice', [unasked + unasked, unasked + answer]],
      ['with headers and words of its own', [`HTTP/1.0 100 go on\r\nvia: proxy\r\n\r\n${answer}`]],
      ['with bare line ends', [`HTTP/1.1 100\n\n${answer}`]],
      ['never, but a body that reads like it', [answer.slice(0, -body.length), body]],
    ])('%s: the answer is read, on each request of a connection', async (_, pieces) => {
      const url = await serveRaw(pieces)
      const dispatcher = dispatching({ connections: 1 })
      for (let round = 0; round < 3; round++) expect(await get(dispatcher, url)).toBe(body)
    })

    it('behind the tunnel of a proxy: the server is named', async () => {
      const [key, cert] = [pem('server.key'), pem('server.pem')]
      const server = createTlsServer({ key, cert }, (socket) => socket.end(unasked + answer))
      await once(server.listen(0, 'localhost'), 'listening')
      onTestFinished(() => void server.close())
      const { port } = server.address() as AddressInfo
      vi.stubEnv('HTTPS_PROXY', (await startProxy()).url)
      const failure = await failureOf(dispatching({ tls }), `https://localhost:${port}/`)
      expect(failure?.message).toMatch(/100 Continue.*update the server/)
    })
  })
})
