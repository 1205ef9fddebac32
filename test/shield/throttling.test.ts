import { afterEach, describe, expect, it } from 'vitest'
import type { Call } from '../../src/shield/client/client.ts'
import { named } from '../sinks/internal-events.ts'
import { answer, emptyPage, type ShieldApi, startShieldApi } from './shield-api.ts'

const never = new AbortController().signal
const call: Call<unknown> = { operation: 'event_logs', method: 'GET', path: '/x', read: (body) => body }
const change: Call<unknown> = { ...call, operation: 'rate_limit', method: 'PATCH', body: '{}' }
const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function started(): Promise<ShieldApi> {
  const api = await startShieldApi()
  closers.push(() => api.close())
  return api
}

const outcomes = ({ internalEvents }: ShieldApi) =>
  named(internalEvents, 'ApiAnswered').map(({ outcome }) => outcome)

describe('a 429', () => {
  it.each([
    ['seconds', () => '3'],
    ['a date', (nowMs: number) => new Date(nowMs + 4000).toUTCString()],
  ])('with a short wait is waited for, in %s', async (_, retryAfter) => {
    const api = await started()
    const beganAt = api.clock.now()
    api.reply(answer(429, '', { 'retry-after': retryAfter(Date.now()) }), answer(200, emptyPage))
    await api.client.send(call, never)
    const waited = api.clock.now() - beganAt
    expect(waited).toBeGreaterThanOrEqual(2000)
    expect(waited).toBeLessThanOrEqual(5000)
    expect(outcomes(api)).toEqual(['throttled', 'ok'])
    expect(named(api.internalEvents, 'ApiThrottled')).toMatchObject([
      { account: 'main', untilMs: beganAt + waited },
    ])
  })

  it('with a long wait pauses the whole account, and no request waits for it', async () => {
    const api = await started()
    api.reply(answer(429, '', { 'retry-after': '120' }))
    const retryAt = api.clock.now() + 120_000
    const expected = { kind: 'wait', code: 'throttled', details: { retryAt } }
    await expect(api.client.send(call, never)).rejects.toMatchObject(expected)
    await expect(api.client.send(change, never)).rejects.toMatchObject(expected)
    expect(api.requests.length).toBe(1)
    expect(api.budget.heldBytes).toBe(0)
    await api.clock.advance(120_000)
    api.reply(answer(200, emptyPage))
    await api.client.send(call, never)
  })

  it('without a wait backs off further each time', async () => {
    const api = await started()
    api.reply(answer(429))
    const pauses: number[] = []
    for (let round = 0; round < 3; round++) {
      const error: unknown = await api.client.send(call, never).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ kind: 'wait', code: 'throttled' })
      await api.clock.advance(60_000)
    }
    for (const { untilMs } of named(api.internalEvents, 'ApiThrottled')) pauses.push(untilMs)
    const gaps = pauses.map((untilMs, index) => untilMs - (pauses[index - 1] ?? 0))
    expect(gaps.slice(1).every((gap) => gap > 0)).toBe(true)
    expect(api.requests.length).toBeLessThanOrEqual(9)
  })

  it('is limited to an hour, and never in the past', async () => {
    const api = await started()
    api.reply(answer(429, '', { 'retry-after': '99999999999' }))
    await expect(api.client.send(call, never)).rejects.toMatchObject({
      details: { retryAt: api.clock.now() + 3_600_000 },
    })
  })

  it('a 503 with a long wait is treated the same', async () => {
    const api = await started()
    api.reply(answer(503, '', { 'retry-after': '60' }))
    await expect(api.client.send(call, never)).rejects.toMatchObject({ kind: 'wait', code: 'throttled' })
    expect(outcomes(api)).toEqual(['server_error'])
  })
})
