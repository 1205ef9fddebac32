import { describe, expect, test } from 'vitest'
import { idsOf, pathOf, startAsking, today } from './asking.ts'

const noon = Date.parse(`${today}T12:00:00.000Z`)
const orders = ['oldest-first', 'newest-first', 'unordered'] as const

test('a snapshot never has entries that arrived after its first page, also if its tokens are reused', async () => {
  for (const order of orders) {
    const options = { tokens: 'snapshot', pageSize: 3, days: 8, lastToken: 'real' } as const
    const { simulator, page, scan } = await startAsking({ order, ...options })
    const before = new Set(simulator.entries(101, today).map((entry) => entry.logId))
    const first = await page(null)
    simulator.append(101, today, 4, { timestampMs: (index) => noon - index * 7_000_000 })
    const rest = await scan(first.continuationToken)
    expect(new Set(idsOf([first, ...rest]))).toEqual(before)
    expect(idsOf(await scan(rest.at(-1)?.continuationToken ?? null))).toEqual([])
    expect(idsOf(await scan(null))).toHaveLength(12)
  }
})

describe('tokens', () => {
  test('name their zone and day, and work across midnight', async () => {
    const { ask, statusOf, page, scan, clock, simulator } = await startAsking({ pageSize: 4, days: 10 })
    const token = (await page(null)).continuationToken ?? ''
    expect(await statusOf(token, { zone: 102 })).toBe(400)
    expect(await statusOf(token, { day: '2026-11-19' })).toBe(400)
    await clock.advance(13 * 3_600_000)
    simulator.append(101, '2026-11-21', 2)
    simulator.append(101, today, 1)
    expect(idsOf(await scan(token))).toHaveLength(7)
    expect(idsOf(await scan(null, { day: '2026-11-21' }))).toHaveLength(2)
    await clock.advance(48 * 3_600_000)
    expect((await ask(pathOf(token))).text).toContain('invalid_datetime_window.event_logs')
  })

  test('need encoding, and are refused once they have expired or are changed', async () => {
    const { statusOf, page, simulator } = await startAsking({ pageSize: 1, days: 3 })
    const token = (await page(null)).continuationToken ?? ''
    for (const sign of ['/', '=', '?', '%', '+', ' ', '#', '&']) expect(token).toContain(sign)
    expect(await statusOf(token)).toBe(200)
    expect(await statusOf(decodeURIComponent(token))).toBe(400)
    expect(await statusOf(`${token.slice(0, -8)}A${token.slice(-7)}`)).toBe(400)
    simulator.expireTokens()
    expect(await statusOf(token)).toBe(400)
    expect(await statusOf((await page(null)).continuationToken ?? '')).toBe(200)
  })
})
