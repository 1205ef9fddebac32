import { describe, expect, it } from 'vitest'
import type { StateSnapshot } from '../../../src/domain/plan/snapshot.ts'
import type { Zone } from '../../../src/domain/stream.ts'
import { parseExposition, valueOf } from './exposition.ts'
import { blog, known, setUpMetrics, shop, snapshotOf } from '../known.ts'

describe('the gauges of shared state', () => {
  const route = { zone: '101', sink: 'siem' }

  it('are read from the store, only for configured zones and sinks', async () => {
    const { metrics } = setUpMetrics()
    metrics.prepare(known)
    const gone: Zone = { id: 999, name: 'gone', account: 'default' }
    const snapshot = snapshotOf([shop, blog, gone], [...known.sinks, 'old'])
    const routes = snapshot.routes.map((one) =>
      one.zone === 102 ? { ...one, newestMs: 1_800_000_000_250, timeToLossSeconds: Infinity } : one,
    )
    const leftGaps = [{ zone: 77, sink: 'retired', gaps: 3 }]
    metrics.readState(() => Promise.resolve({ ...snapshot, routes, leftGaps }))
    const families = parseExposition(await metrics.text())
    const value = (name: string, labels: Record<string, string>) =>
      valueOf(families, `shieldlog_${name}`, labels)
    expect(families.get('shieldlog_zone_lag_seconds')!.samples).toHaveLength(4)
    expect(value('zone_caught_up_timestamp_seconds', route)).toBe(1_800_000_000.5)
    expect(value('zone_newest_event_timestamp_seconds', route)).toBeUndefined()
    expect(value('zone_newest_event_timestamp_seconds', { ...route, zone: '102' })).toBe(1_800_000_000.25)
    expect(value('time_to_loss_seconds', { ...route, zone: '102' })).toBe(Infinity)
    expect(value('gaps', route)).toBe(2)
    expect(value('gaps', { zone: '77', sink: 'retired' })).toBe(3)
    expect(value('streams', { state: 'settling' })).toBe(3)
    expect(value('dead_letters', { sink: 'siem' })).toBe(7)
    expect(value('queue_jobs', { priority: 'live', state: 'waiting' })).toBe(9)
    expect(value('state_up', {})).toBe(1)
  })

  it('are read once in a few seconds', async () => {
    const { metrics, clock } = setUpMetrics()
    metrics.prepare(known)
    let asked = 0
    metrics.readState(() => {
      asked++
      return Promise.resolve(snapshotOf(known.zones, known.sinks))
    })
    await Promise.all([metrics.text(), metrics.text(), metrics.text()])
    await metrics.text()
    expect(asked).toBe(1)
    await clock.advance(2000)
    const families = parseExposition(await metrics.text())
    expect(valueOf(families, 'shieldlog_zone_lag_seconds', route)).toBe(7)
    expect(asked).toBe(1)
    await clock.advance(1000)
    await metrics.text()
    expect(asked).toBe(2)
    expect(clock.sleeping()).toBe(0)
  })

  it('are absent when the store fails, except lag, which keeps growing', async () => {
    const fail = () => Promise.reject(new Error('store down'))
    const { metrics, clock } = setUpMetrics()
    metrics.prepare(known)
    let read: () => Promise<StateSnapshot> = fail
    metrics.readState(() => read())
    const never = parseExposition(await metrics.text())
    expect(valueOf(never, 'shieldlog_state_up')).toBe(0)
    expect(never.get('shieldlog_zone_lag_seconds')!.samples).toEqual([])

    read = () => Promise.resolve(snapshotOf(known.zones, known.sinks))
    await clock.advance(3000)
    expect(valueOf(parseExposition(await metrics.text()), 'shieldlog_state_up')).toBe(1)
    read = fail
    await clock.advance(100_000)
    const down = parseExposition(await metrics.text())
    expect(valueOf(down, 'shieldlog_state_up')).toBe(0)
    expect(valueOf(down, 'shieldlog_zone_lag_seconds', route)).toBe(105)
    expect(valueOf(down, 'shieldlog_time_to_loss_seconds', route)).toBe(89_900)
    for (const name of ['streams', 'gaps', 'dead_letters', 'queue_jobs', 'zone_caught_up_timestamp_seconds'])
      expect(down.get(`shieldlog_${name}`)!.samples, name).toEqual([])
    expect(valueOf(down, 'shieldlog_events_late_total', route)).toBe(0)
  })

  it('delay a scrape by at most four seconds when the store hangs, and read it every 15 seconds', async () => {
    const { metrics, clock } = setUpMetrics()
    metrics.prepare(known)
    const questions: ((snapshot: StateSnapshot) => void)[] = []
    metrics.readState(() => new Promise((resolve) => questions.push(resolve)))
    const first = metrics.text()
    await clock.untilSleeping()
    await clock.advance(4000)
    expect(valueOf(parseExposition(await first), 'shieldlog_state_up')).toBe(0)

    await clock.advance(11_000)
    const second = metrics.text()
    await clock.untilSleeping()
    expect(questions).toHaveLength(2)
    questions[1]!(snapshotOf(known.zones, known.sinks, 1))
    expect(valueOf(parseExposition(await second), 'shieldlog_zone_lag_seconds', route)).toBe(1)

    // The abandoned answer is older than what is known by now.
    questions[0]!(snapshotOf(known.zones, known.sinks, 77))
    expect(valueOf(parseExposition(await metrics.text()), 'shieldlog_zone_lag_seconds', route)).toBe(1)
    expect(clock.sleeping()).toBe(0)
  })
})
