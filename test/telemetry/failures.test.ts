import { describe, expect, it } from 'vitest'
import { matching } from './log-lines.ts'
import { day, failed, minute, recovered, setUp, streamOf } from './stage.ts'

describe('a lasting failure', () => {
  it('is logged when it begins, every ten minutes with counts, and when it ends, in words for an operator', async () => {
    const { clock, log, emit } = setUp()
    for (let elapsed = 0; elapsed < 25; elapsed++) {
      for (let zone = 101; zone < 401; zone++) emit(failed(zone, { retryAtMs: clock.now() + minute }))
      await clock.advance(minute)
    }
    for (let zone = 101; zone < 401; zone++) emit(recovered(zone))
    const lines = log.lines()
    expect(lines.map(({ level, event, phase, msg }) => [level, event, phase, msg])).toEqual([
      [
        'warn',
        'StreamFailed',
        'begins',
        'zone 101 (shop) → archive: no answer within 30 s; next try in 60 s',
      ],
      [
        'warn',
        'StreamFailed',
        'lasts',
        'still after 10 min: account default → archive: no answer in time (3001 times, 300 zones)',
      ],
      [
        'warn',
        'StreamFailed',
        'lasts',
        'still after 20 min: account default → archive: no answer in time (6001 times, 300 zones)',
      ],
      [
        'info',
        'StreamFailed',
        'ends',
        'ended after 25 min: account default → archive: no answer in time (7500 times, 300 zones)',
      ],
    ])
    expect(lines[0]).toMatchObject({
      zone: 101,
      day,
      sink: 'archive',
      code: 'timeout',
      retryAt: '2026-11-20T12:01:00.000Z',
    })
    expect(lines[1]).toMatchObject({ zones: 300, count: 3001 })
  })

  it('is one line for each reason and side, not for each zone', () => {
    const { log, emit } = setUp()
    for (let zone = 101; zone < 601; zone++) {
      emit(failed(zone, { code: 'unauthorised', kind: 'stop', sink: 'archive' }))
      emit(failed(zone, { code: 'unauthorised', kind: 'stop', sink: 'siem' }))
    }
    for (let zone = 101; zone < 601; zone++)
      emit(failed(zone, { code: 'sink_refuses', kind: 'stop', sink: 'siem' }))
    for (let zone = 101; zone < 601; zone++) emit(failed(zone, { code: 'store_unavailable' }))
    const begun = log.lines().filter(({ phase }) => phase === 'begins')
    expect(begun.map(({ level, code, account, sink }) => [level, code, account, sink])).toEqual([
      ['error', 'unauthorised', 'default', 'archive'],
      ['error', 'unauthorised', 'second', 'archive'],
      ['error', 'sink_refuses', undefined, 'siem'],
      ['warn', 'store_unavailable', undefined, 'archive'],
    ])
  })

  it('ends only when the last stream has recovered', () => {
    const { log, emit } = setUp()
    emit(failed(101))
    emit(failed(102))
    emit(recovered(101))
    expect(log.lines()).toHaveLength(1)
    emit({ name: 'StreamEnded', stream: streamOf(102), as: 'expired' })
    expect(log.lines().map(({ phase }) => phase)).toEqual(['begins', 'ends'])
    emit(recovered(102))
    emit(recovered(102))
    expect(log.lines()).toHaveLength(2)
  })

  it('moves a stream to another condition when its reason changes', () => {
    const { log, emit } = setUp()
    emit(failed(101))
    emit(failed(101, { code: 'unauthorised', kind: 'stop' }))
    expect(log.lines().map(({ code, phase }) => [code, phase])).toEqual([
      ['timeout', 'begins'],
      ['unauthorised', 'begins'],
      ['timeout', 'ends'],
    ])
  })

  it('is logged again although only other streams report', async () => {
    const { clock, log, emit, tick } = setUp()
    emit(failed(101, { retryAtMs: clock.now() + 60 * minute }))
    for (let elapsed = 0; elapsed < 31; elapsed++) {
      await clock.advance(minute)
      tick()
    }
    expect(log.lines().map(({ phase, count }) => [phase, count])).toEqual([
      ['begins', 1],
      ['lasts', 1],
      ['lasts', 1],
      ['lasts', 1],
    ])
  })

  it('expires when the stream is pumped by another process', async () => {
    const { clock, log, emit, tick } = setUp()
    emit(failed(101, { retryAtMs: clock.now() + minute }))
    await clock.advance(17 * minute)
    tick()
    expect(
      log
        .lines()
        .map(({ phase, msg }) => [phase, msg])
        .at(-1),
    ).toEqual([
      'ends',
      'no longer reported after 17 min: account default → archive: no answer in time (1 time)',
    ])
    emit(recovered(101))
    expect(log.lines()).toHaveLength(2)
  })

  it('is logged a few times when it repeats, then only counted', async () => {
    const { clock, log, emit, tick } = setUp()
    for (let round = 0; round < 60; round++) {
      emit(failed(101, { retryAtMs: clock.now() + 1000 }))
      await clock.advance(2000)
      emit(recovered(101))
      await clock.advance(2000)
    }
    expect(log.lines().map(({ phase }) => phase)).toEqual([
      'begins',
      'ends',
      'begins',
      'ends',
      'begins',
      'ends',
    ])
    log.clear()
    await clock.advance(10 * minute)
    tick()
    expect(log.lines()).toMatchObject([{ level: 'info', msg: matching(/^ended after .* \(58 times\)$/) }])
    await clock.advance(20 * minute)
    tick()
    emit(failed(101))
    expect(log.lines()).toHaveLength(2)
  })

  it('does not log stops, and a throttled account only once', () => {
    const { clock, log, emit } = setUp()
    emit(failed(101, { code: 'cancelled', kind: 'cancelled' }))
    expect(log.lines()).toEqual([])
    emit({ name: 'ApiThrottled', account: 'default', untilMs: clock.now() + 5000 })
    emit(failed(101, { code: 'throttled', kind: 'wait' }))
    expect(log.lines().map(({ event }) => event)).toEqual(['ApiThrottled'])
    emit(failed(501, { code: 'throttled', kind: 'wait' }))
    expect(log.lines().map(({ event }) => event)).toEqual(['ApiThrottled', 'StreamFailed'])
  })

  it('is deleted for zones and sinks that are no longer configured', () => {
    const { log, emit, metrics, known } = setUp()
    emit(failed(101))
    emit(failed(102, { sink: 'siem', code: 'sink_refuses', kind: 'stop' }))
    metrics.prepare({ ...known, zones: known.zones.slice(1), sinks: ['archive'] })
    log.clear()
    emit({ name: 'ConfigReloaded', changed: ['zones', 'sinks'], needsRestart: ['server'] })
    expect(log.lines().map(({ level, event, phase }) => [level, event, phase])).toEqual([
      ['info', 'StreamFailed', 'ends'],
      ['info', 'StreamFailed', 'ends'],
      ['warn', 'ConfigReloaded', undefined],
    ])
  })
})
