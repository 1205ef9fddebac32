import { describe, expect, test } from 'vitest'
import { idsOf, startAsking, today } from './asking.ts'
import type { WireEntry } from '../../src/simulator/simulator.ts'

const noon = Date.parse(`${today}T12:00:00.000Z`)
const tomorrow = '2026-11-21'

describe('traffic', () => {
  test('days are filled evenly up to now, and equally with the same seed', async () => {
    const one = await startAsking({ days: 12 })
    const times = one.simulator.entries(101, today).map((entry) => entry.timestamp)
    expect(times).toEqual(Array.from({ length: 12 }, (_, hour) => noon - (12 - hour) * 3_600_000))
    expect(one.simulator.count(102, '2026-11-18')).toBe(12)
    expect(one.simulator.count(101, '2026-11-17')).toBe(0)
    const same = await startAsking({ days: { [today]: 12 } })
    expect(same.simulator.entries(101, today)).toEqual(one.simulator.entries(101, today))
    expect(same.simulator.count(101, '2026-11-19')).toBe(0)
    const other = await startAsking({ days: 12, seed: 2 })
    const ids = new Set(one.simulator.entries(101, today).map((entry) => entry.logId))
    expect(other.simulator.entries(101, today).some((entry) => ids.has(entry.logId))).toBe(false)
  })

  test('steady traffic depends only on the clock, also across midnight', async () => {
    const { simulator, clock, scan } = await startAsking({ live: { ratePerSecond: 0.5 } })
    await clock.advance(100_000)
    expect(simulator.count(101, today)).toBe(50)
    await clock.advance(43_200_000)
    expect(simulator.count(101, today)).toBe(21_600)
    expect(simulator.count(101, tomorrow)).toBe(50)
    expect(simulator.count(102, tomorrow)).toBe(50)
    const entries = simulator.entries(102, tomorrow)
    simulator.calm()
    await clock.advance(100_000)
    expect(simulator.entries(102, tomorrow)).toEqual(entries)
    for (const { timestamp } of entries) expect(new Date(timestamp).toISOString().slice(0, 10)).toBe(tomorrow)
    expect(idsOf(await scan(null, { zone: 102, day: tomorrow }))).toEqual(entries.map((entry) => entry.logId))
  })

  test('entries are appended between the steady ones, and returned unchanged', async () => {
    const { simulator, clock, scan } = await startAsking({ live: { ratePerSecond: 1 } })
    await clock.advance(3000)
    const own: WireEntry = {
      logId: 'mine',
      timestamp: noon + 500,
      // Three bytes a character: more than the page was expected to take.
      log: { text: '火墙'.repeat(20_000) },
      labels: { status: 'Odd' },
    }
    expect(simulator.append(101, today, [own])).toEqual([own])
    const late = simulator.append(101, today, 2, { timestampMs: (index) => noon - index })
    await clock.advance(3000)
    expect(simulator.count(101, today)).toBe(9)
    const pages = await scan(null)
    expect(idsOf(pages).slice(0, 2)).toEqual(late.toReversed().map((entry) => entry.logId))
    expect(pages[0]?.logs).toContainEqual(own)
    expect(new Set(idsOf(pages)).size).toBe(9)
    expect(simulator.append(101, '2026-11-19', 1)[0]?.timestamp).toBe(Date.parse(`${today}T00:00:00Z`) - 1)
  })
})
