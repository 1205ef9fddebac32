import type { Socket } from 'node:net'
import { join } from 'node:path'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import type { Day } from '../../../src/domain/day.ts'
import { Failure, isFailure } from '../../../src/domain/failure.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import type { Call } from '../../../src/shield/client/client.ts'
import { createGate } from '../../../src/shield/client/account-gate.ts'
import { PageBudget } from '../../../src/shield/client/page-budget.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { named } from '../../sinks/internal-events.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { answer, answering, emptyPage, never, startedApi, type Reply, type ShieldApi } from '../shield-api.ts'

const call: Call<unknown> = { operation: 'event_logs', method: 'GET', path: '/x', read: (body) => body }
const change: Call<unknown> = { ...call, operation: 'rate_limit', method: 'PATCH', body: '{}' }
const zone = { id: 101, name: '', account: 'main' }
const firstPage = { zone, day: '2026-11-20' as Day, cursor: null, priority: 'live' } as const
const cut: Reply = (response) => response.socket?.destroy()

const good = answer(200, emptyPage)
const outcomes = ({ internalEvents }: ShieldApi) =>
  named(internalEvents, 'ApiAnswered').map(({ outcome }) => outcome)

describe('a request', () => {
  it('has the key and a User-Agent', async () => {
    const api = await answering(good)
    const { value, bytes } = await api.client.send({ ...call, path: '/a/%2E%2E/%2F?b=c' }, never)
    expect(value()).toEqual(emptyPage)
    expect(bytes).toBe(JSON.stringify(emptyPage).length)
    expect(api.requests[0]?.url).toBe('/a/%2E%2E/%2F?b=c')
    expect(api.requests[0]?.headers).toMatchObject({
      accesskey: 'k-hunter2',
      accept: 'application/json',
      'accept-encoding': 'gzip, br, zstd',
      'user-agent': 'shieldlog/1.2.3',
      'cache-control': 'no-cache, no-store',
      pragma: 'no-cache',
    })
    expect(named(api.internalEvents, 'ApiAnswered')).toMatchObject([
      { account: 'main', operation: 'event_logs', outcome: 'ok' },
    ])
  })

  it('is never sent with a key that is invalid in a header', async () => {
    for (const key of ['', 'two words', 'a\nb', 'clé']) {
      const api = await startedApi({ accessKey: new Secret(key) })
      await expect(api.client.send(call, never)).rejects.toMatchObject({ kind: 'stop', code: 'unauthorised' })
      expect(api.requests).toEqual([])
    }
  })
})

describe('tries', () => {
  it.each([
    ['a status of 500', answer(500), 'server_error'],
    ['a status of 503 with a page of HTML', answer(503, '<html>'), 'server_error'],
    ['a status of 408', answer(408), 'timeout'],
    ['a cut connection', cut, 'network'],
    ['a body that is no JSON', answer(200, '{"logs":['), 'bad_body'],
    ['a body that does not unpack', answer(200, 'x', { 'content-encoding': 'gzip' }), 'bad_body'],
  ])('continue after %s, three in all', async (_, reply, outcome) => {
    const strict: Call<unknown> = {
      ...call,
      read: (body) => {
        if (body === undefined) throw new Failure('retry', 'bad_body', 'no JSON')
        return body
      },
    }
    const api = await answering(reply, reply, good)
    expect((await api.client.send(strict, never)).value()).toEqual(emptyPage)
    expect(outcomes(api)).toEqual([outcome, outcome, 'ok'])
    api.reply(reply)
    await expect(api.client.send(strict, never)).rejects.toMatchObject({ kind: 'retry', code: outcome })
    expect(api.requests.length).toBe(6)
    expect(api.budget.heldBytes).toBe(4 * JSON.stringify(emptyPage).length)
  })

  it('are never repeated for requests that change something', async () => {
    for (const reply of [answer(500), cut, answer(429, '', { 'retry-after': '0' })]) {
      const api = await answering(reply)
      await expect(api.client.send(change, never)).rejects.toThrow()
      expect(api.requests.length).toBe(1)
    }
  })

  it('end at once for errors that do not change, redirects included', async () => {
    for (const status of [400, 401, 403, 404, 302]) {
      const api = await answering(answer(status, '', { location: '/elsewhere' }))
      await expect(api.client.send(call, never)).rejects.toThrow()
      expect(api.requests.length).toBe(1)
    }
  })

  it('use a key that was replaced in its file', async () => {
    const file = join(temporaryFolder(), 'key')
    writeFileSync(file, 'new')
    const api = await startedApi({ accessKey: new Secret('old', () => readFileSync(file, 'utf8')) })
    const taking =
      (key: string): Reply =>
      (response, request) =>
        answer(request.headers['accesskey'] === key ? 200 : 401, emptyPage)(response, request)
    api.reply(taking('new'))
    expect((await api.client.send(call, never)).value()).toEqual(emptyPage)
    expect(outcomes(api)).toEqual(['unauthorised', 'ok'])
    writeFileSync(file, 'newer')
    api.reply(taking('newer'))
    await Promise.all(Array.from({ length: 6 }, () => api.client.send(call, never)))
    api.reply(answer(401))
    await expect(api.client.send(call, never)).rejects.toMatchObject({ kind: 'stop', code: 'unauthorised' })
  })

  it('ends when its time is over by the Clock, not by the timers of the host', async () => {
    const clock = createFakeClock()
    const api = await startedApi({ requestTimeoutMs: 30_000, clock })
    api.reply(() => undefined)
    const failed = api.client.send(change, never).catch((error: unknown) => error)
    await expect.poll(() => api.requests).toHaveLength(1)
    await clock.advance(30_000)
    expect(await failed).toMatchObject({ code: 'timeout' })
  })
})

describe('a 429', () => {
  it('with a short wait is waited for', async () => {
    const api = await answering(answer(429, '', { 'retry-after': '3' }), good)
    const beganAt = api.clock.now()
    await api.client.send(call, never)
    const waited = api.clock.now() - beganAt
    expect(waited).toBe(3000)
    expect(outcomes(api)).toEqual(['throttled', 'ok'])
    expect(named(api.internalEvents, 'ApiThrottled')).toMatchObject([
      { account: 'main', untilMs: beganAt + waited },
    ])
  })

  it.each([undefined, '0', '0.001', '-1', 'NaN', 'Thu, 01 Jan 1970 00:00:00 GMT'])(
    'with Retry-After: %s pauses for a second, doubled each time',
    async (retryAfter) => {
      const api = await answering(
        answer(429, '', retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      )
      const beganAt = api.clock.now()
      await expect(api.client.send(call, never)).rejects.toMatchObject({ kind: 'wait', code: 'throttled' })
      const pauses = named(api.internalEvents, 'ApiThrottled').map(({ untilMs }) => untilMs - beganAt)
      expect(pauses).toEqual([1_000, 3_000, 7_000])
    },
  )

  it('to requests that were under way together makes one pause', async () => {
    const api = await answering(answer(429))
    const beganAt = api.clock.now()
    const page = { ...firstPage, sink: 'files' }
    const outcomes = await Promise.allSettled(
      Array.from({ length: 4 }, () => api.client.send({ ...call, page }, never)),
    )
    expect(outcomes.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
    expect(named(api.internalEvents, 'ApiThrottled').map(({ untilMs }) => untilMs - beganAt)).toEqual(
      Array(4).fill(1_000),
    )
  })

  it('is told at once to a stream, which waits elsewhere', async () => {
    const api = await answering(answer(429), good)
    const ofStream = { ...call, page: { ...firstPage, sink: 'files' } }
    const expected = { kind: 'wait', code: 'throttled', details: { retryAt: api.clock.now() + 1_000 } }
    await expect(api.client.send(ofStream, never)).rejects.toMatchObject(expected)
    await expect(api.client.send(ofStream, never)).rejects.toMatchObject(expected)
    expect(api.requests.length).toBe(1)
    await api.clock.advance(1_000)
    await api.client.send(ofStream, never)
  })

  it('is prevented where an answer says that it would come', async () => {
    const usedUp = answer(200, emptyPage, { ratelimit: '"default";r=0;t=30' })
    const api = await answering(usedUp, good)
    await api.client.send(call, never)
    const details = { retryAt: api.clock.now() + 30_000 }
    await expect(api.client.send(call, never)).rejects.toMatchObject({
      kind: 'wait',
      code: 'throttled',
      details,
    })
    expect(api.requests.length).toBe(1)
    expect(named(api.internalEvents, 'ApiThrottled')).toEqual([])
    await api.clock.advance(30_000)
    await api.client.send(call, never)
  })

  it('names its wait by the renewal of a limit too', async () => {
    const api = await answering(answer(429, '', { 'retry-after': '0', 'x-ratelimit-reset': '40' }))
    const details = { retryAt: api.clock.now() + 40_000 }
    await expect(api.client.send(call, never)).rejects.toMatchObject({ kind: 'wait', details })
  })

  it('with a long wait pauses the whole account, and no request waits for it', async () => {
    const api = await answering(answer(429, '', { 'retry-after': '120' }))
    const retryAt = api.clock.now() + 120_000
    const expected = { kind: 'wait', code: 'throttled', details: { retryAt } }
    await expect(api.client.send(call, never)).rejects.toMatchObject(expected)
    await expect(api.client.send(change, never)).rejects.toMatchObject(expected)
    expect(api.requests.length).toBe(1)
    expect(api.budget.heldBytes).toBe(0)
    await api.clock.advance(120_000)
    api.reply(good)
    await api.client.send(call, never)
  })

  it('a 503 with a long wait is treated the same', async () => {
    const api = await answering(answer(503, '', { 'retry-after': '60' }))
    await expect(api.client.send(call, never)).rejects.toMatchObject({ kind: 'wait', code: 'throttled' })
    expect(outcomes(api)).toEqual(['server_error'])
  })
})

describe('a stop', () => {
  it.each([
    ['before the answer', () => {}],
    ['in the middle of it', (response: Parameters<Reply>[0]) => void response.write('{"logs":')],
  ])('ends a request %s', async (_, reply: Reply) => {
    const api = await answering(reply)
    const stop = new AbortController()
    const sending = api.client.send(call, stop.signal)
    await expect.poll(() => api.requests.length).toBe(1)
    stop.abort()
    await expect(sending).rejects.toMatchObject({ kind: 'cancelled' })
    expect(outcomes(api)).toEqual([])
    expect(api.budget.heldBytes).toBe(0)
  })

  it('ends waits between tries, for the budget of the account, and for memory', async () => {
    const budget = new PageBudget(10)
    const api = await startedApi({ budget })
    api.clock.autoAdvance(false)
    const stop = new AbortController()
    api.reply(answer(500))
    const retrying = api.client.send(call, stop.signal)
    await api.clock.untilSleeping()
    stop.abort()
    await expect(retrying).rejects.toMatchObject({ kind: 'cancelled' })
    const held = await budget.reserve(() => 10, never)
    const stopToo = new AbortController()
    const waiting = api.client.send(call, stopToo.signal)
    stopToo.abort()
    await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' })
    held.release()
    expect(budget.heldBytes).toBe(0)
    expect(api.clock.sleeping()).toBe(0)
  })
})

test('a backfill takes a place in the rate only once it has memory, and so only one', async () => {
  const budget = new PageBudget(10)
  const clock = createFakeClock()
  const gate = createGate({ account: 'main', maxRequestsPerSecond: 1 }, clock)
  const api = await startedApi({ budget, gate })
  api.reply(good)
  const page = { ...firstPage, priority: 'backfill' } as const
  const backfill: Call<unknown> = { ...call, page }
  const held = await budget.reserve(() => 10, never)
  const atOnce = api.client.send({ ...call, page: { ...page, ifRoom: true } }, never)
  await expect(atOnce).rejects.toMatchObject({ code: 'no_room' })
  const waiting = api.client.send(backfill, never)
  held.release()
  // No time passes: a second place would be one a second later.
  expect((await waiting).value()).toEqual(emptyPage)
})

test('the clock of the API is set by each answer, also by errors', async () => {
  const closed = { errorResponse: { success: false, errorKey: 'invalid_datetime_window.x' } }
  const api = await startedApi()
  const ahead = new Date(api.clock.now() + 120_000).toUTCString()
  const past = 'Thu, 01 Oct 2026 00:00:00 GMT'
  api.reply(good, answer(200, emptyPage, { date: ahead }), answer(401, closed, { date: past }))
  expect(Math.abs((await api.client.send(call, never)).clockOffsetMs ?? NaN)).toBeLessThan(60_000)
  const { clockOffsetMs } = await api.client.send(call, never)
  expect(clockOffsetMs).toBeGreaterThan(118_000)
  expect(clockOffsetMs).toBeLessThanOrEqual(120_000)
  const details = { serverDate: Date.parse(past) }
  await expect(api.client.send(call, never)).rejects.toMatchObject({ code: 'window_closed', details })
  expect(named(api.internalEvents, 'ClockSkewMeasured').length).toBe(3)
})

describe('an answer from a cache', () => {
  const poll = { ...call, page: { ...firstPage, known: '' } }
  const hourAgo = { date: new Date(Date.now() - 3_600_000).toUTCString() }

  it('has an age, and its Date is no time', async () => {
    const headers = { ...hourAgo, age: '90', via: '1.1 squid', 'x-cache': 'HIT', server: 'edge' }
    const api = await answering(answer(200, emptyPage, headers), good)
    const answered = await api.client.send(poll, never)
    expect([answered.ageMs, answered.clockOffsetMs]).toEqual([91_000, undefined])
    expect(named(api.internalEvents, 'ClockSkewMeasured')).toEqual([])
    const by = 'via: 1.1 squid, x-cache: HIT, server: edge'
    expect(named(api.internalEvents, 'AnswerCached')).toMatchObject([{ zone: 101, ageMs: 91_000, by }])
    expect((await api.client.send(poll, never)).ageMs).toBeUndefined()
  })

  it.each([
    ['0', undefined],
    ['-1', undefined],
    ['soon', undefined],
    ['1.5', undefined],
    ['1', 2_000],
    ['9'.repeat(30), 2 ** 31 * 1000 + 1000],
  ])('tells the age %s', async (age, ageMs) => {
    const api = await answering(answer(200, emptyPage, { age }))
    expect((await api.client.send(poll, never)).ageMs).toBe(ageMs)
  })

  it('is known by its Date too, which does not move, from one that is the same because nothing happened', async () => {
    const api = await startedApi()
    const ages = async (...replies: Reply[]) => {
      const found: unknown[] = []
      for (const reply of replies) {
        api.reply(reply)
        found.push((await api.client.send(poll, never)).ageMs)
        await api.clock.advance(30_000)
      }
      return found
    }
    const at = (ms: number) => ({ date: new Date(1_800_000_000_000 + ms).toUTCString() })
    const still = answer(200, emptyPage, at(0))
    expect(await ages(still, still, still)).toEqual([undefined, 30_000, 60_000])
    expect(await ages(answer(200, emptyPage, at(30_000)))).toEqual([undefined])
    // A server whose clock stands still, and which has news.
    expect(await ages(answer(200, { ...emptyPage, startToken: 'x' }, at(30_000)))).toEqual([undefined])
    expect(named(api.internalEvents, 'AnswerCached')).toHaveLength(2)
  })

  it('ends no day by its Date, and pauses no account by what was left of a limit then', async () => {
    const closed = { errorResponse: { success: false, errorKey: 'invalid_datetime_window.x' } }
    const headers = { ...hourAgo, age: '9', ratelimit: '"default";r=0;t=30' }
    const api = await answering(answer(401, closed, headers), answer(200, emptyPage, headers), good)
    await expect(api.client.send(poll, never)).rejects.toMatchObject({
      code: 'window_closed',
      details: { serverDate: undefined },
    })
    await api.client.send(poll, never)
    await api.client.send(poll, never)
  })
})

describe('an answer whose Date contradicts the one before', () => {
  const dayMs = 86_400_000

  it('is confirmed by no answer over its connection: the next requests go over new ones', async () => {
    const api = await startedApi({ connections: 1 })
    const sockets: (Socket | undefined)[] = []
    const at =
      (offsetMs: number, status = 200): Reply =>
      (response, request) => {
        sockets.push(request.socket)
        const date = new Date(api.clock.now() + offsetMs).toUTCString()
        answer(status, emptyPage, { date })(response, request)
      }
    api.reply(at(0), at(0), at(dayMs, 400), at(dayMs), at(dayMs), at(0), at(0))
    const connections: unknown[] = []
    for (let sent = 0; sent < 7; sent++) {
      const told = await api.client.send(call, never).catch((error: unknown) => {
        if (!isFailure(error)) throw error
        return error.details
      })
      connections.push(told.connection)
    }
    const isNew = (list: readonly unknown[]) => list.map((each, index) => each !== list[index - 1])
    // After the third answer, whose Date is a day ahead, and after the sixth, whose Date is right again.
    const expected = [true, false, false, true, false, false, true]
    expect(isNew(connections)).toEqual(expected)
    expect(isNew(sockets)).toEqual(expected)
  })
})

test('the message of a failure has neither key nor token, but the request id', async () => {
  const told = { Message: 'no key k-hunter2 for token abc/def and abc%2Fdef' }
  const api = await answering(answer(400, told, { 'cdn-requestid': 'req-7' }))
  const failed = api.client.send({ ...call, token: 'abc/def' }, never)
  const error: unknown = await failed.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'cursor_expired', details: { requestId: 'req-7' } })
  expect(String(error)).not.toMatch(/k-hunter2|abc/)
})

test.each([
  [
    answer(403, '<html>Blocked by the web filter. Reference 18.2f</html>', {
      'content-type': 'text/html; charset=utf-8',
      server: 'filter/2',
    }),
    'rejected',
    'something between this host and the API answered 403; check proxies and web filters: the answer is no JSON but HTML: "Blocked by the web filter. Reference 18.2f" (status 403, text/html, server filter/2)',
  ],
  [
    answer(401, 'sign in, k-hunter2', { 'content-type': 'text/plain' }),
    'rejected',
    '401; check proxies and web filters: the answer is no JSON but text: "sign in, ***" (status 401, text/plain)',
  ],
  [answer(401, ''), 'unauthorised', 'the API refuses the access key (401); check api.accessKey'],
  [answer(403, { Message: 'No.' }), 'unauthorised', 'check api.accessKey: No.'],
  [
    answer(200, '<title>Sign in</title>', { 'content-type': 'text/html' }),
    'bad_body',
    'main: the answer is no JSON but HTML with the title "Sign in" (status 200, text/html)',
  ],
  [answer(204), 'bad_body', 'main: the answer is no JSON but empty (status 204, application/json)'],
])('who answers in place of the API is told by status, server and title: %#', async (reply, code, text) => {
  const api = await answering(reply)
  const error: unknown = await api.client.read(call, never).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code })
  expect(String(error)).toContain(text)
})
