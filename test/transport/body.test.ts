import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { giveBack, readBody } from '../../src/transport/body.ts'
import { createDispatcher } from '../../src/transport/dispatcher.ts'
import { networkFailure } from '../../src/transport/network-failure.ts'
import { serveHttp, type TestServer } from '../setup/http-server.ts'

const dispatcher = createDispatcher({ connections: 4 })
const text = Buffer.from(JSON.stringify({ logs: Array.from({ length: 500 }, (_, n) => ({ n })) }))
let listener: RequestListener
let server: TestServer

beforeAll(async () => {
  server = await serveHttp((incoming, response) => listener(incoming, response))
})
afterAll(() => dispatcher.destroy())

async function read(maxBytes = 1e6, signal = AbortSignal.timeout(100_000)): Promise<Buffer> {
  try {
    const { body, headers } = await request(server.url, { dispatcher, signal })
    return await readBody(body, { encoding: headers['content-encoding'], maxBytes })
  } catch (error) {
    throw networkFailure(error, 'GET', signal)
  }
}

function answerWith(body: Buffer, encoding?: string): void {
  listener = (_, response) => {
    if (encoding !== undefined) response.setHeader('content-encoding', encoding)
    response.end(body)
  }
}

it.each([
  ['gzip', gzipSync(text)],
  ['GZIP', gzipSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
  ['identity', text],
  ['', text],
  ['x-gzip', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['none', text],
  ['utf-8', text],
  ['gzip, identity', gzipSync(text)],
  ['br, gzip', gzipSync(brotliCompressSync(text))],
  ['gzip,gzip', gzipSync(gzipSync(text))],
  ['gzip', text],
  ['zstd', text],
])('decompresses %s, and takes an empty body as empty', async (encoding, body) => {
  answerWith(body, encoding)
  expect(await read()).toEqual(text)
  answerWith(Buffer.alloc(0), encoding)
  expect(await read()).toHaveLength(0)
})

it('decompresses a large body outside the main thread', async () => {
  const large = randomBytes(3_000_000)
  answerWith(gzipSync(large, { level: 1 }), 'gzip')
  expect((await read(4e6)).equals(large)).toBe(true)
})

it.each([
  ['gzip', (body: Buffer) => gzipSync(body)],
  ['br', (body: Buffer) => brotliCompressSync(body, { params: { 1: 4 } })],
  ['zstd', (body: Buffer) => zstdCompressSync(body)],
  ['gzip,gzip', (body: Buffer) => gzipSync(gzipSync(body, { level: 0 }))],
  ['identity', (body: Buffer) => body],
])('leaves no memory behind where the body (%s) is given back', async (encoding, coded) => {
  // It compresses to a seventh.
  const large = Buffer.from(randomBytes(150_000).toString('hex').replaceAll(/./g, '$& '))
  const body = coded(large)
  const times = 20
  const heldBefore = process.memoryUsage().arrayBuffers
  for (let read = 0; read < times; read++) {
    const got = await readBody(Readable.from([Buffer.from(body)]), { encoding, maxBytes: 1e7 })
    expect(got.length).toBe(large.length)
    giveBack(got)
    expect(got.length).toBe(0)
  }
  expect((process.memoryUsage().arrayBuffers - heldBefore) / times).toBeLessThan(large.length / 5)
})

it('gives no memory back in which others may be', () => {
  const [one, other] = [Buffer.from('one'), Buffer.from('other')]
  giveBack(one)
  expect(other.toString()).toBe('other')
  const small = Buffer.from(new ArrayBuffer(Buffer.poolSize + 1), 0, 10)
  giveBack(small)
  expect(small.length).toBe(0)
})

const bomb = Buffer.alloc(5_000_000)
it.each([
  ['gzip', gzipSync(bomb)],
  ['br', brotliCompressSync(bomb, { params: { 1: 1 } })],
  ['zstd', zstdCompressSync(bomb)],
])('stops a %s bomb at its limit', async (encoding, body) => {
  answerWith(body, encoding)
  await expect(read()).rejects.toMatchObject({ code: 'page_too_large', kind: 'refuse' })
})

it('stops reading at the limit', async () => {
  let closed: Promise<unknown> | undefined
  listener = (_, response) => {
    closed = once(response, 'close')
    const push = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      if (!response.destroyed) response.once('drain', push)
    }
    push()
  }
  await expect(read()).rejects.toMatchObject({ code: 'page_too_large' })
  await closed
})

it.each([undefined, 'gzip'])('accepts a body of exactly the limit, coding %s', async (encoding) => {
  answerWith(encoding === undefined ? text : gzipSync(text), encoding)
  expect((await read(text.length)).length).toBe(text.length)
  await expect(read(text.length - 1)).rejects.toMatchObject({ code: 'page_too_large' })
})

it.each([
  ['gzip', gzipSync(text).subarray(0, 100)],
  ['br', brotliCompressSync(text).subarray(0, 60)],
  ['zstd', zstdCompressSync(text).subarray(0, 100)],
  ['br', text],
  ['snappy', text],
  ['gzip,gzip,gzip,gzip,gzip', gzipSync(text)],
])('refuses a body that is not valid %s', async (encoding, body) => {
  answerWith(body, encoding)
  await expect(read()).rejects.toMatchObject({ code: 'bad_body', kind: 'retry' })
})

it.each([
  ['with a length', { 'content-length': '1000' }],
  ['in chunks', {}],
])('reports a body that was cut short %s as an error of the network', async (_, headers) => {
  listener = (_incoming, response) => {
    response.writeHead(200, headers)
    response.write('begun', () => response.destroy())
  }
  await expect(read()).rejects.toMatchObject({ code: 'network', kind: 'retry' })
})

it('ends at once on a stop', async () => {
  const stop = new AbortController()
  listener = (_, response) => response.write('begun', () => stop.abort())
  await expect(read(1e6, stop.signal)).rejects.toMatchObject({ kind: 'cancelled' })
})

it.each(['identity', 'gzip'])(
  'ends at its time limit where a body (%s) stops in the middle',
  async (encoding) => {
    listener = (_, response) => {
      response.setHeader('content-encoding', encoding)
      response.write(gzipSync(text).subarray(0, 50))
    }
    await expect(read(1e6, AbortSignal.timeout(100))).rejects.toMatchObject({
      code: 'timeout',
      kind: 'retry',
    })
  },
)

it('gives the memory of large chunks back once they are joined, and leaves small ones as they are', async () => {
  const large = [randomBytes(65_536), randomBytes(65_536)]
  const small = Buffer.from('shared with others')
  const whole = Buffer.concat([...large, small])
  const body = Readable.from([...large, small], { objectMode: true })
  expect(await readBody(body, { encoding: undefined, maxBytes: 1e6 })).toEqual(whole)
  expect(large.map(({ length }) => length)).toEqual([0, 0])
  expect(small.toString()).toBe('shared with others')
})
