import { describe, expect, it } from 'vitest'
import { createLagHistory, type LagHistory } from '../../src/status/lag-history.ts'
import { at, minuteMs } from '../domain/builders.ts'

const route = (lagSeconds: number, delivered: number, zone = 101) => ({
  zone,
  sink: 'siem',
  lagSeconds,
  delivered,
})
const of = (history: LagHistory, nowMs: number) => history.of(101, 'siem', nowMs)

describe('the history of the last hour', () => {
  it('has the longest lag of each minute, and a gap in minutes without a sample', () => {
    const history = createLagHistory()
    history.add(at(1), [route(5, 10)])
    history.add(at(1) + 20_000, [route(90, 10)])
    history.add(at(1) + 40_000, [route(7, 10)])
    history.add(at(1) + 2 * minuteMs, [route(8, 10)])
    const { lagSeconds } = of(history, at(1) + 2 * minuteMs)
    expect(lagSeconds).toHaveLength(60)
    expect(lagSeconds.slice(-4)).toEqual([null, 90, null, 8])
  })

  it('has events per second between the last samples of two minutes, and no rate if a day and its events were deleted', () => {
    const history = createLagHistory()
    history.add(at(1), [route(5, 100)])
    history.add(at(1) + minuteMs, [route(5, 100 + 90)])
    history.add(at(1) + 2 * minuteMs, [route(5, 20)])
    expect(of(history, at(1) + 2 * minuteMs).eventsPerSecond.slice(-3)).toEqual([null, 1.5, null])
  })

  it('deletes samples older than an hour, and of routes that no longer exist', () => {
    const history = createLagHistory()
    history.add(at(1), [route(5, 100), route(5, 100, 7)])
    history.add(at(2), [route(6, 100)])
    expect(of(history, at(2)).lagSeconds.filter((value) => value !== null)).toEqual([6])
    expect(history.of(7, 'siem', at(2)).lagSeconds.every((value) => value === null)).toBe(true)
    // A day later the slots of the ring are used again.
    expect(of(history, at(26)).lagSeconds.every((value) => value === null)).toBe(true)
  })
})
