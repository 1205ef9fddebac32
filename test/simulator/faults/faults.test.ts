import { get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { expectReply, problemType } from '../conform.ts'
import { decoders, idsOf, pathOf, startAsking, today, type Asking } from '../asking.ts'
import * as schemas from '../schemas.ts'
import type { Fault } from '../../../src/simulator/simulator.ts'

const path = pathOf(null)

async function askUnder(fault: Fault, options: Parameters<Asking['ask']>[1] = {}) {
  const asking = await startAsking({ days: 20, pageSize: 10 })
  asking.simulator.fail({ fault })
  return { ...asking, reply: await asking.ask(path, options) }
}

describe('other answers', () => {
  test('a status, with a body or without', async () => {
    const { simulator, ask, reply } = await askUnder({ kind: 'status', status: 500 })
    expect([reply.status, reply.text, reply.headers['content-type']]).toEqual([500, '', undefined])
    simulator.fail({ fault: { kind: 'status', status: 502, body: '<html>', headers: { 'x-a': 'b' } } })
    const html = await ask(path)
    expect([html.status, html.text, html.headers['x-a']]).toEqual([502, '<html>', 'b'])
    expect(html.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(() => simulator.fail({ fault: { kind: 'status', status: 100 } })).toThrow(/takes 200 to 599/)
  })

  test.each([
    [3, '3'],
    ['soon', 'soon'],
    [1e15, '1000000000000000'],
    [{ inMs: 90_000 }, 'Fri, 20 Nov 2026 12:01:30 GMT'],
  ] as const)('throttled, with %s to wait', async (retryAfter, header) => {
    const { reply } = await askUnder({ kind: 'throttle', retryAfter })
    expectReply(reply, 429, schemas.problemDetails, problemType)
    expect(reply.headers['retry-after']).toBe(header)
  })

  test('throttled without a wait, and with another status', async () => {
    const { reply } = await askUnder({ kind: 'throttle', status: 503 })
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, undefined])
  })

  test.each([200, 202, 400, 401])('an error key with status %i', async (status) => {
    const { reply } = await askUnder({ kind: 'errorKey', errorKey: 'limit_reached.x', status })
    expectReply(reply, status, schemas.failedEventLogPage)
    expect(reply.text).toContain('"errorKey":"limit_reached.x"')
  })

  test('problem details, a redirect, an expired token', async () => {
    const { reply, simulator, ask, page } = await askUnder({ kind: 'problemDetails', status: 403 })
    expectReply(reply, 403, schemas.problemDetails, problemType)
    simulator.fail({ fault: { kind: 'redirect', location: 'https://x.example/' } })
    const redirect = await ask(path)
    expect([redirect.status, redirect.headers['location']]).toEqual([302, 'https://x.example/'])
    simulator.fail({ fault: { kind: 'expiredToken' } })
    const { continuationToken } = await page(null)
    expect((await ask(pathOf(continuationToken))).status).toBe(400)
    expect((await ask(pathOf(continuationToken))).status).toBe(200)
  })

  test('every error body of the interface, at every operation', async () => {
    const { ask, simulator } = await startAsking()
    const volumes = '/mc/apps/shop/volumes'
    for (const at of [path, volumes, '/shield/metrics/shield-zone/101/upload-scanning']) {
      simulator.fail({ fault: { kind: 'validationProblem' } })
      expectReply(await ask(at), 400, schemas.validationProblem, problemType)
      simulator.fail({ fault: { kind: 'problemDetails', status: 500 } })
      expectReply(await ask(at), 500, schemas.problemDetails, problemType)
      simulator.fail({ fault: { kind: 'statusCode', status: 403 } })
      expectReply(await ask(at), 403, schemas.statusCodeResult)
      simulator.fail({ fault: { kind: 'status', status: 500 } })
      expect(await ask(at)).toMatchObject({ status: 500, text: '' })
    }
    simulator.set({ volumesPageSize: 1 })
    simulator.fail({ fault: { kind: 'repeatCursor' }, times: Infinity })
    const headers = { AccessKey: 'some' }
    const first = (await ask(volumes, { headers })).json() as { cursor: string }
    const next = await ask(`${volumes}?nextCursor=${encodeURIComponent(first.cursor)}`, { headers })
    expectReply(next, 200, schemas.volumeList)
    expect(next.json()).toMatchObject({ cursor: first.cursor })
  })

  test('a clock that is wrong, or missing', async () => {
    const { reply, simulator, ask } = await askUnder({ kind: 'date', offsetMs: -60_000 })
    expect(reply.headers['date']).toBe('Fri, 20 Nov 2026 11:59:00 GMT')
    simulator.fail({ fault: { kind: 'date', offsetMs: null } })
    expect((await ask(path)).headers['date']).toBeUndefined()
  })
})

describe('faults while sending', () => {
  test.each([
    [{ kind: 'reset' }, 0],
    [{ kind: 'reset', when: 'mid' }, 200],
    [{ kind: 'cut' }, 200],
  ] as const)('%o ends the connection', async (fault, status) => {
    const { simulator, ask } = await startAsking({ days: 20 })
    simulator.fail({ fault })
    await expect(ask(path)).rejects.toThrow(/other side closed|ECONNRESET|terminated|socket/i)
    expect(simulator.requests.at(-1)).toMatchObject({ status, fault: fault.kind })
    expect((await ask(path)).status).toBe(200)
  })

  test.each(['before', 'mid'] as const)('nothing more is sent: %s', async (when) => {
    const { simulator, ask } = await startAsking({ days: 20 })
    simulator.fail({ fault: { kind: 'hang', when }, times: 2 })
    const leaving = new AbortController()
    const left = ask(path, { signal: leaving.signal }).catch((error: unknown) => error)
    await expect.poll(() => simulator.requests.length).toBe(1)
    leaving.abort()
    expect(await left).toMatchObject({ name: 'AbortError' })
    const stays = ask(path).catch((error: unknown) => error)
    await expect.poll(() => simulator.requests.length).toBe(2)
    await simulator.close()
    expect(await stays).toBeInstanceOf(Error)
  })

  test('a client that disconnects, or never reads, delays nothing', async () => {
    const { simulator, ask } = await startAsking({ days: 20 })
    simulator.fail({ fault: { kind: 'oversized', bytes: 1e12 }, times: 2 })
    simulator.fail({ fault: { kind: 'bomb', bytes: 1e12 } })
    await expect(ask(path, { signal: AbortSignal.timeout(50) })).rejects.toThrow(/abort/i)
    const unread = await new Promise<IncomingMessage>((resolve) => get(simulator.url + path, resolve))
    const bomb = await new Promise<IncomingMessage>((resolve) => get(simulator.url + path, resolve))
    const ends = [unread, bomb].map((each) => once(each, 'error'))
    await simulator.close()
    unread.resume()
    bomb.resume()
    for (const [error] of (await Promise.all(ends)) as [Error][]) expect(error.message).toBe('aborted')
  })

  test('slowly, by the clock', async () => {
    const { simulator, ask, clock } = await startAsking({ days: 1 })
    const whole = await ask(path)
    simulator.fail({ fault: { kind: 'drip', everyMs: 1000, chunkBytes: 100 } })
    clock.autoAdvance(true)
    const started = clock.monotonic()
    const reply = await ask(path)
    expect(reply.text).toBe(whole.text)
    expect(clock.monotonic() - started).toBe(Math.ceil(whole.bytes.length / 100) * 1000)
    simulator.fail({ fault: { kind: 'delay', ms: 5000 } })
    expect((await ask(path)).text).toBe(whole.text)
    simulator.set({ latencyMs: 700 })
    expect((await ask(path)).text).toBe(whole.text)
    expect(clock.monotonic() - started).toBe(Math.ceil(whole.bytes.length / 100) * 1000 + 5700)
  })

  test.each([true, false])('a large page, its length declared: %s', async (declared) => {
    const { reply } = await askUnder({ kind: 'oversized', bytes: 1_000_000, declared })
    expect(reply.bytes).toHaveLength(1_000_000)
    expect(reply.headers['content-length']).toBe(declared ? '1000000' : undefined)
    expectReply(reply, 200, schemas.eventLogPage)
  })

  test.each(['gzip', 'br', 'zstd', 'deflate'] as const)('a small body that grows: %s', async (encoding) => {
    const { reply } = await askUnder({ kind: 'bomb', bytes: 5_000_000, encoding })
    expect(reply.headers['content-encoding']).toBe(encoding)
    expect(reply.bytes.length).toBeLessThan(50_000)
    expect(decoders[encoding](reply.bytes)).toHaveLength(5_000_000)
  })

  test.each(['gzip', 'br', 'zstd', 'deflate'] as const)(
    'encoded although not accepted, or if accepted: %s',
    async (encoding) => {
      const { reply, simulator, ask } = await askUnder({ kind: 'encode', encoding })
      const plain = await ask(path)
      expect(decoders[encoding](reply.bytes).toString()).toBe(plain.text)
      simulator.set({ compress: encoding })
      const accepting = await ask(path, { headers: { 'accept-encoding': `x, ${encoding};q=0.5` } })
      expect(accepting.headers['content-encoding']).toBe(encoding)
      expect(decoders[encoding](accepting.bytes).toString()).toBe(plain.text)
      const refusing = await ask(path, { headers: { 'accept-encoding': `${encoding};q=0` } })
      expect(refusing.headers['content-encoding']).toBeUndefined()
      simulator.fail({ fault: { kind: 'encode', encoding, label: 'snappy' } })
      expect((await ask(path)).headers['content-encoding']).toBe('snappy')
    },
  )
})

describe('rules', () => {
  test('apply as often as configured, to matching requests, the first rule first', async () => {
    const { simulator, ask, page } = await startAsking({ days: 20, pageSize: 10 })
    const status = async (token: string | null, at = {}) => (await ask(pathOf(token, at))).status
    const { continuationToken } = await page(null)
    simulator.fail({ match: { firstPage: false }, fault: { kind: 'status', status: 501 } })
    simulator.fail({
      match: { zone: 102, firstPage: true },
      times: 2,
      fault: { kind: 'status', status: 502 },
    })
    simulator.fail({ match: { day: '2026-11-19' }, fault: { kind: 'status', status: 503 } })
    simulator.fail({ match: { operation: 'volumes' }, fault: { kind: 'status', status: 504 } })
    expect(await status(null)).toBe(200)
    expect(await status(null, { zone: 102, day: '2026-11-19' })).toBe(502)
    expect(await status(null, { zone: 101, day: '2026-11-19' })).toBe(503)
    expect(await status(null, { zone: 102, day: '2026-11-19' })).toBe(502)
    expect(await status(null, { zone: 102, day: '2026-11-19' })).toBe(200)
    expect(await status(continuationToken)).toBe(501)
    expect(await status(continuationToken)).toBe(200)
    expect((await ask('/mc/apps/a/volumes')).status).toBe(504)
    expect(simulator.requests.map((request) => request.status)).toEqual([
      200, 200, 502, 503, 502, 200, 501, 200, 504,
    ])
  })

  test('can apply at an interval without end, until they are removed', async () => {
    const { simulator, ask } = await startAsking()
    simulator.fail({ every: 3, times: Number.POSITIVE_INFINITY, fault: { kind: 'status', status: 500 } })
    const statuses = async () => {
      const found: number[] = []
      for (let turn = 0; turn < 6; turn++) found.push((await ask(path)).status)
      return found
    }
    expect(await statuses()).toEqual([200, 200, 500, 200, 200, 500])
    simulator.heal()
    expect(await statuses()).toEqual([200, 200, 200, 200, 200, 200])
    expect(() => simulator.fail({ times: 0, fault: { kind: 'notJson' } })).toThrow(RangeError)
  })

  test('of a page are not used up by other operations', async () => {
    const { simulator, ask, page } = await startAsking({ days: 5 })
    simulator.fail({ fault: { kind: 'badEntries' } })
    expect((await ask('/shield/metrics/shield-zone/101/upload-scanning')).status).toBe(200)
    expect((await page(null)).logs?.length).toBeGreaterThan(5)
    expect(idsOf([await page(null)])).toEqual(simulator.entries(101, today).map((entry) => entry.logId))
  })
})
