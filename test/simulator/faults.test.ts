import { describe, expect, test } from 'vitest'
import { scenarios, type Fault } from '../../src/simulator/faults.ts'
import { pathOf, startAsking, today, type AskOptions, type EventLogPage } from './asking.ts'
import * as faults from './faults.ts'
import * as schemas from './schemas.ts'

const { expectReply } = schemas

const path = pathOf(null)

async function askUnder(fault: Fault, options: AskOptions = {}) {
  const asking = await startAsking({ days: 20, pageSize: 10 })
  asking.simulator.fail({ fault })
  return { ...asking, reply: await asking.ask(path, options) }
}

test('a status, with a body or without', async () => {
  const { simulator, ask, reply } = await askUnder(faults.status({ status: 500 }))
  expect([reply.status, reply.text, reply.headers['content-type']]).toEqual([500, '', undefined])
  simulator.fail({ fault: faults.status({ status: 502, body: '<html>', headers: { 'x-a': 'b' } }) })
  const html = await ask(path)
  expect([html.status, html.text, html.headers['x-a']]).toEqual([502, '<html>', 'b'])
  expect(html.headers['content-type']).toBe('text/html; charset=utf-8')
})

test.each([
  [undefined, undefined],
  [3, '3'],
  ['soon', 'soon'],
  [{ inMs: 90_000 }, 'Fri, 20 Nov 2026 12:01:30 GMT'],
] as const)('throttled, with %s to wait', async (retryAfter, header) => {
  const { reply } = await askUnder(faults.throttle(retryAfter === undefined ? {} : { retryAfter }))
  expectReply(reply, 429, schemas.problemDetails)
  expect(reply.headers['retry-after']).toBe(header)
})

test('an error key in the envelope of each operation', async () => {
  const { ask, simulator } = await startAsking()
  const at = async (path: string, status: number) => {
    simulator.fail({ fault: faults.errorKey({ errorKey: 'limit_reached.x', status }) })
    const reply = await ask(path)
    expect(reply.text).toContain('limit_reached.x')
    return reply
  }
  for (const status of [200, 202, 401])
    expectReply(await at(path, status), status, schemas.failedEventLogPage)
  const upload = '/shield/metrics/shield-zone/101/upload-scanning'
  expectReply(await at(upload, 202), 202, schemas.failedUploadScanning)
  expectReply(await at('/shield/rate-limit/1', 202), 202, schemas.failedRateLimitRule)
  expectReply(await at('/shield/shield-zones', 202), 202, schemas.failedZoneList)
  expectReply(await at('/mc/apps/shop/volumes', 500), 500, schemas.problemDetails)
})

test('an expired token is one of a request that has a token', async () => {
  const { simulator, ask, page } = await startAsking({ days: 20, pageSize: 10 })
  simulator.fail({ fault: faults.expiredToken() })
  const { continuationToken } = await page(null)
  expect((await ask(pathOf(continuationToken))).status).toBe(400)
  expect((await ask(pathOf(continuationToken))).status).toBe(200)
})

test('a shifted date, and none', async () => {
  const { reply, simulator, ask } = await askUnder(faults.date({ offsetMs: -60_000 }))
  expect(reply.headers['date']).toBe('Fri, 20 Nov 2026 11:59:00 GMT')
  simulator.fail({ fault: faults.date({ offsetMs: null }) })
  expect((await ask(path)).headers['date']).toBeUndefined()
})

test.each([
  [faults.reset(), 0],
  [faults.reset({ when: 'mid' }), 200],
])('$kind ends the connection', async (fault, status) => {
  const { simulator, ask } = await startAsking({ days: 20 })
  simulator.fail({ fault })
  await expect(ask(path)).rejects.toThrow(/other side closed|ECONNRESET|terminated|socket/i)
  expect(simulator.requests.at(-1)).toMatchObject({ status, fault: 'reset' })
  expect((await ask(path)).status).toBe(200)
})

test.each(['before', 'mid'] as const)('nothing more is sent: %s', async (when) => {
  const { simulator, ask } = await startAsking({ days: 20 })
  simulator.fail({ fault: faults.hang({ when }), times: 2 })
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

test('slowly, by the clock', async () => {
  const { simulator, ask, clock } = await startAsking({ days: 1 })
  const whole = await ask(path)
  simulator.fail({ fault: faults.drip({ everyMs: 1000, chunkBytes: 100 }) })
  clock.autoAdvance(true)
  const started = clock.monotonic()
  expect((await ask(path)).text).toBe(whole.text)
  simulator.set({ latencyMs: 700 })
  expect((await ask(path)).text).toBe(whole.text)
  expect(clock.monotonic() - started).toBe(Math.ceil(whole.bytes.length / 100) * 1000 + 700)
})

describe('rules', () => {
  test('apply as often as configured, to matching requests, the first rule first', async () => {
    const { simulator, ask, page } = await startAsking({ days: 20, pageSize: 10 })
    const answered = async (token: string | null, at = {}) => (await ask(pathOf(token, at))).status
    const { continuationToken } = await page(null)
    const fail = (match: object, status: number, times = 1) =>
      simulator.fail({ match, times, fault: faults.status({ status }) })
    fail({ firstPage: false }, 501)
    fail({ zone: 102, firstPage: true }, 502, 2)
    fail({ day: '2026-11-19' }, 503)
    fail({ operation: 'volumes' }, 504)
    expect(await answered(null)).toBe(200)
    expect(await answered(null, { zone: 102, day: '2026-11-19' })).toBe(502)
    expect(await answered(null, { zone: 101, day: '2026-11-19' })).toBe(503)
    expect(await answered(null, { zone: 102, day: '2026-11-19' })).toBe(502)
    expect(await answered(null, { zone: 102, day: '2026-11-19' })).toBe(200)
    expect(await answered(continuationToken)).toBe(501)
    expect(await answered(continuationToken)).toBe(200)
    expect((await ask('/mc/apps/a/volumes')).status).toBe(504)
  })

  test('can apply at an interval without end, until they are removed', async () => {
    const { simulator, ask } = await startAsking()
    simulator.fail({ every: 3, times: Infinity, fault: faults.status({ status: 500 }) })
    const statuses = async () => {
      const found: number[] = []
      for (let turn = 0; turn < 6; turn++) found.push((await ask(path)).status)
      return found
    }
    expect(await statuses()).toEqual([200, 200, 500, 200, 200, 500])
    simulator.heal()
    expect(await statuses()).toEqual([200, 200, 200, 200, 200, 200])
    expect(() => simulator.fail({ times: 0, fault: faults.notJson() })).toThrow(RangeError)
  })
})

const ofEventLogs = Object.keys(scenarios).filter((name) =>
  scenarios[name]!.every(({ match }) => match?.operation === 'eventLogs'),
)

test.each(ofEventLogs)('under %s every entry can still be read', async (name) => {
  const { simulator, ask, clock } = await startAsking({ days: 60, pageSize: 2 })
  clock.autoAdvance(true)
  for (const rule of scenarios[name] ?? []) simulator.fail(rule)
  const wanted = new Set(simulator.entries(101, today).map((entry) => entry.logId))
  let token: string | null = null
  // A reader that asks for a page again until it makes sense.
  for (let turn = 0; turn < 200 && wanted.size > 0; turn++) {
    const reply = await ask(pathOf(token), { signal: AbortSignal.timeout(500) }).catch(() => undefined)
    if (reply?.status !== 200 || !reply.text.startsWith('{')) continue
    const page = reply.json() as EventLogPage
    for (const { logId } of page.logs ?? []) wanted.delete(logId)
    token = page.hasMoreData ? page.continuationToken : null
  }
  expect(wanted.size).toBe(0)
  expect(simulator.requests.filter((request) => request.fault !== undefined)).not.toEqual([])
})
