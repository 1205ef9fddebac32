import { expect, it } from 'vitest'
import type { Day } from '../../src/domain/day.ts'
import { Failure, type FailureCode } from '../../src/domain/failure.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { matching } from './log-lines.ts'
import { day, failed, minute, recovered, setUp, streamOf } from './stage.ts'

const queueFailed = (code: FailureCode): InternalEvent => ({
  name: 'QueueFailed',
  error: new Failure('retry', code, `${code}; shieldlog tries again`),
})

it('a lasting failure is logged when it begins, every ten minutes with counts, and when it ends', async () => {
  const { clock, log, emit, said } = setUp('info', 500)
  for (let elapsed = 0; elapsed < 25; elapsed++) {
    for (let zone = 101; zone < 401; zone++) emit(failed(zone, { retryAtMs: clock.now() + minute }))
    await clock.advance(minute)
  }
  for (let zone = 101; zone < 401; zone++) emit(recovered(zone))
  expect(said()).toEqual([
    'begins zone 101 (shop) → archive: no answer within 30 s',
    'lasts still after 10 min (3001 times, 300 zones), last: zone 101 (shop) → archive: no answer within 30 s',
    'lasts still after 20 min (6001 times, 300 zones), last: zone 101 (shop) → archive: no answer within 30 s',
    'ends ended after 25 min (7500 times, 300 zones), last: zone 400 → archive: no answer within 30 s',
  ])
  const lines = log.lines()
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn', 'warn', 'info'])
  const stream = { zone: 101, day, sink: 'archive' }
  expect(lines[0]).toMatchObject({ ...stream, code: 'timeout', retryAt: '2026-11-20T12:01:00.000Z' })
  expect(lines[1]).toMatchObject({ zones: 300, count: 3001, account: 'default', sink: 'archive' })
})

it('a condition of less than half a second is told without a duration', () => {
  const { log, emit } = setUp()
  for (const zone of [101, 102]) emit(failed(zone))
  emit({ name: 'Stopped' })
  expect(log.lines()[1]?.['msg']).toBe(
    'still (2 times, 2 zones), last: zone 102 → archive: no answer within 30 s',
  )
})

it('each of the zones of a condition is named: every ten minutes, at its end, and where the process stops before', async () => {
  const { clock, log, emit, tick } = setUp('info', 500)
  const refuses = { code: 'sink_refuses', kind: 'stop' } as const
  const all = (zones: number) => Array.from({ length: zones }, (_, index) => 101 + index)
  for (const zone of all(60).toReversed())
    emit(failed(zone, { ...refuses, retryAtMs: clock.now() + 60 * minute }))
  expect(log.lines().map(({ zone, zoneIds }) => [zone, zoneIds])).toEqual([[160, undefined]])
  await clock.advance(10 * minute)
  tick()
  for (const zone of all(61)) emit(recovered(zone))
  expect(log.lines().slice(1)).toMatchObject([
    { phase: 'lasts', zones: 60, zoneIds: all(60) },
    { phase: 'ends', zones: 60, zoneIds: all(60) },
  ])
  log.clear()
  for (const zone of all(1_200)) emit(failed(zone, refuses))
  emit(failed(1, { code: 'network' }))
  emit({ name: 'Stopped' })
  expect(log.lines()).toMatchObject([
    { phase: 'begins', zone: 101 },
    { phase: 'begins', zone: 1 },
    { phase: 'lasts', zones: 1_200, zoneIds: all(1_000) },
    { phase: 'lasts', zones: 1_200, zoneIds: all(1_200).slice(1_000) },
    { event: 'Stopped' },
  ])
})

it('gaps of many zones, which come in a burst and have no end, are all named after some seconds', async () => {
  const { clock, log, emit, tick } = setUp('info', 500)
  const times = { from: 0, to: 1, recordedAt: 2 }
  const zones = [101, 102, 103]
  for (const zone of zones)
    for (const sink of ['archive', 'siem'])
      emit({ name: 'GapFound', gap: { zone, sink, day, reason: 'unreadable', ...times } })
  await clock.advance(9_000)
  tick()
  expect(log.lines().map(({ sink, zone }) => [sink, zone])).toEqual([
    ['archive', 101],
    ['siem', 101],
  ])
  await clock.advance(2_000)
  tick()
  expect(log.lines().slice(2)).toMatchObject(
    ['archive', 'siem'].map((sink) => ({
      sink,
      zoneIds: zones,
      msg: matching(/^3 times in 11 s, 3 zones, last: zone 103 → .*: lost events of 2026-11-20,/),
    })),
  )
  await clock.advance(5 * minute)
  tick()
  expect(log.lines()).toHaveLength(4)
})

it('what happens to a part or an object is told of its zone', () => {
  const { log, emit } = setUp('info', 500)
  const part = `shield_zone=102/day=${day}/0001-20261120T120000Z-0fb31693e8.ndjson`
  emit({ name: 'FileCut', sink: 'archive', part, bytes: 12, keptAside: false })
  emit({ name: 'ObjectAdopted', sink: 'siem', key: `waf/shield_zone=101/day=${day}/ab-000001.ndjson.gz` })
  expect(log.lines()).toMatchObject([
    { sink: 'archive', zone: 102, day },
    { sink: 'siem', zone: 101, day, msg: matching(/^zone 101 \(shop\) → siem: found waf\//) },
  ])
})

it('a failure is one line for each reason and side, not for each zone', () => {
  const { log, emit } = setUp('info', 500)
  for (let zone = 101; zone < 601; zone++) {
    for (const sink of ['archive', 'siem']) emit(failed(zone, { code: 'unauthorised', kind: 'stop', sink }))
    emit(failed(zone, { code: 'store_unavailable' }))
  }
  for (let zone = 101; zone < 601; zone++)
    emit(failed(zone, { code: 'sink_refuses', kind: 'stop', sink: 'siem' }))
  const begun = log.lines().filter(({ phase }) => phase === 'begins')
  expect(begun.map(({ level, code, account, sink }) => [level, code, account, sink])).toEqual([
    ['error', 'unauthorised', 'default', 'archive'],
    ['warn', 'store_unavailable', 'default', 'archive'],
    ['error', 'unauthorised', 'second', 'archive'],
    ['error', 'sink_refuses', 'default', 'siem'],
  ])
})

it('a failure is logged again although only other streams report, and expires without reports of its own', async () => {
  const { clock, emit, tick, said } = setUp()
  emit(failed(101, { retryAtMs: clock.now() + 16 * minute }))
  for (let elapsed = 0; elapsed < 32; elapsed++) {
    await clock.advance(minute)
    tick()
  }
  // Another process pumps the stream now.
  emit(recovered(101))
  expect(said()).toEqual([
    matching(/^begins zone 101/),
    matching(/^lasts still after 10 min \(1 time\)/),
    matching(/^lasts still after 20 min/),
    matching(/^lasts still after 30 min/),
    matching(/^ends ended after 31 min \(1 time\), last: zone 101/),
  ])
})

it('a failure that comes and goes is logged a few times, then only counted', async () => {
  const { clock, log, emit, tick, phases } = setUp()
  for (let round = 0; round < 60; round++) {
    emit(failed(101, { retryAtMs: clock.now() + 1000 }))
    await clock.advance(2000)
    emit(recovered(101))
    await clock.advance(2000)
  }
  expect(phases()).toEqual([1, 2, 3].flatMap(() => ['StreamFailed begins', 'StreamFailed ends']))
  log.clear()
  await clock.advance(10 * minute)
  tick()
  expect(log.lines()).toMatchObject([{ level: 'info', msg: matching(/^ended after .* \(58 times\)/) }])
  await clock.advance(20 * minute)
  tick()
  emit(failed(101))
  expect(log.lines()).toHaveLength(2)
})

it('stops are not logged, nor failures of a throttled account besides the pause, which ends after a minute without one', async () => {
  const { clock, log, emit, tick, phases } = setUp('info', 500)
  emit(failed(101, { code: 'cancelled', kind: 'cancelled' }))
  for (let pauses = 0; pauses < 3; pauses++) {
    emit({ name: 'ApiThrottled', account: 'default', untilMs: clock.now() + 5000 })
    emit(failed(101, { code: 'throttled', kind: 'wait' }))
    await clock.advance(minute)
  }
  const msg = 'account default: the API asks for a pause of 5 s (429)'
  expect(log.lines()).toMatchObject([{ phase: 'begins', msg, until: '2026-11-20T12:00:05.000Z' }])
  await clock.advance(5000)
  tick()
  expect(log.lines().at(-1)).toMatchObject({ phase: 'ends', count: 3 })
  emit(failed(501, { code: 'throttled', kind: 'wait' }))
  expect(phases()).toEqual(['ApiThrottled begins', 'ApiThrottled ends', 'StreamFailed begins'])
})

it('a reload ends all failures, also of zones and sinks that are no longer configured; those that last begin anew', () => {
  const { log, emit, phases } = setUp()
  emit(failed(101))
  emit(failed(102, { sink: 'siem', code: 'sink_refuses', kind: 'stop' }))
  log.clear()
  emit({ name: 'ConfigReloaded', changed: ['zones', 'sinks'], needsRestart: ['server'] })
  emit(failed(101))
  expect(phases()).toEqual([
    'StreamFailed ends',
    'StreamFailed ends',
    'ConfigReloaded undefined',
    'StreamFailed begins',
  ])
})

it('a guarded scan is told until the scans of all its streams are complete', () => {
  const { emit, phases } = setUp()
  for (const zone of [101, 102])
    emit({ name: 'ScanGuarded', stream: streamOf(zone), guard: 'cursor_cycle', why: 'it turns' })
  emit(failed(101, { code: 'scan_guarded' }))
  emit({ name: 'ScanCompleted', stream: streamOf(101), kind: 'full', pages: 2, found: 1, seconds: 1 })
  expect(phases()).toEqual(['ScanGuarded begins'])
  emit({ name: 'ScanCompleted', stream: streamOf(102), kind: 'full', pages: 2, found: 1, seconds: 1 })
  expect(phases()).toEqual(['ScanGuarded begins', 'ScanGuarded ends'])
})

it('trouble of the queue begins once for each cause, and all of it ends together', async () => {
  const { clock, emit, said } = setUp()
  for (let elapsed = 0; elapsed < 12; elapsed++) {
    emit(queueFailed('store_unavailable'))
    emit(queueFailed('store_refuses'))
    await clock.advance(5_000)
  }
  emit({ name: 'QueueRecovered' })
  emit({ name: 'QueueRecovered' })
  expect(said()).toEqual([
    'begins the queue stands still: store_unavailable; shieldlog tries again',
    'begins the queue stands still: store_refuses; shieldlog tries again',
    matching(/^ends ended after 1 min \(12 times\), last: the queue stands still: store_unavailable/),
    matching(/^ends ended after 1 min \(12 times\), last: the queue stands still: store_refuses/),
  ])
})

it('a wrong clock is told once, and its end', async () => {
  const { clock, log, emit } = setUp()
  for (let elapsed = 0; elapsed < 100; elapsed++) {
    emit({ name: 'ClockSkewMeasured', account: 'default', offsetMs: 120_000 })
    await clock.advance(minute)
  }
  emit({ name: 'ClockSkewMeasured', account: 'default', offsetMs: -29_000 })
  const msg = matching(/this host is 2 min behind the API's; correct it/)
  expect(log.lines()).toMatchObject([{ level: 'warn', phase: 'begins', msg }, { phase: 'ends' }])
})

it.each<InternalEvent>([
  { name: 'FileShort', sink: 'archive', part: 'p', expected: 9, found: 3 },
  {
    name: 'GapFound',
    gap: { zone: 101, sink: 'siem', day, from: 0, to: 1, reason: 'unreadable', recordedAt: 2 },
  },
])('$name repeated is logged at once, then every ten minutes with a count', async (internalEvent) => {
  const { clock, log, emit, tick } = setUp()
  for (let elapsed = 0; elapsed < 42; elapsed++) {
    if (elapsed < 12) emit(internalEvent)
    await clock.advance(minute)
    tick()
  }
  expect(log.lines().map(({ count }) => count)).toEqual([1, 10, 12])
  emit(internalEvent)
  expect(log.lines()).toHaveLength(4)
})

it('repeated ids are told once; log ids that events share once for a zone and day', async () => {
  const { clock, log, emit } = setUp('info', 500)
  const lines = (name: string) => log.lines().filter(({ event }) => event === name)
  for (let number = 0; number < 300; number++) {
    const of = new Date(Date.UTC(2026, 10, 20 + number)).toISOString().slice(0, 10) as Day
    const repeated = { stream: streamOf(101 + number), id: `evil\n${number}` }
    emit({ name: 'IdSeenWithOtherTime', ...repeated })
    emit({ name: 'TimesChangedPrecision', ...repeated, time: `${of}T12:00:00.000Z` })
    for (const sink of ['archive', 'siem'])
      emit({ name: 'IdSharedByEvents', stream: { ...streamOf(101), sink, day: of }, id: `e~${number}` })
    await clock.advance(24 * 60 * minute)
  }
  const names = ['IdSeenWithOtherTime', 'TimesChangedPrecision', 'IdSharedByEvents']
  expect(names.map((name) => lines(name).length)).toEqual([1, 1, 300])
  expect(lines('IdSharedByEvents')[0]).toMatchObject({ level: 'warn', zone: 101, id: 'e~0' })
})

it('what is unexpected is one condition a zone: a line when it begins, one when it is over, none meanwhile', async () => {
  const { clock, log, emit, tick, said, metrics } = setUp()
  const found = { names: { member: ['ja4'] }, counts: { member: 2, time: 1 } }
  for (let round = 0; round < 100; round++) {
    for (const sink of ['archive', 'siem'])
      emit({ name: 'EntriesUnexpected', stream: streamOf(101, sink), found })
    emit({ name: 'PageRepaired', zone: 101, day, page: `page ${round} of zone 101`, at: 7 })
    await clock.advance(11 * minute)
  }
  expect(log.lines()).toMatchObject([
    { level: 'warn', phase: 'begins', zone: 101, names: ['ja4'], member: 2, time: 1 },
    { level: 'warn', phase: 'begins', zone: 101, page: 'page 0 of zone 101', at: 7 },
  ])
  for (const sink of ['archive', 'siem']) emit({ name: 'EntriesAsExpected', stream: streamOf(101, sink) })
  expect(said().at(-1)).toMatch(/^ends .*\(200 times\), last: zone 101 \(shop\) → siem: the API lists/)
  await clock.advance(26 * 60 * minute)
  tick()
  expect(said().at(-1)).toMatch(/^ends .*page 99 of zone 101/)
  const text = (await metrics.text()).join('')
  expect(text).toContain('shieldlog_entries_unexpected_total{zone="101",kind="member"} 400\n')
  expect(text).toContain('shieldlog_entries_unexpected_total{zone="101",kind="time"} 200\n')
  expect(text).toContain('shieldlog_entries_unexpected_total{zone="102",kind="log"} 0\n')
})

it('received texts make no more conditions than a limit, and none of other events', () => {
  const { log, emit, phases } = setUp()
  for (let index = 0; index < 5000; index++)
    emit({ name: 'Warned', about: 'sink', text: `odd answer ${index}` })
  expect(log.lines().length).toBeLessThanOrEqual(201)
  emit(failed(101))
  expect(phases().at(-1)).toBe('StreamFailed begins')
})

it('a stream has one failure at a time: another reason ends the one before', () => {
  const { log, emit } = setUp()
  emit(failed(101))
  emit(failed(101, { code: 'network' }))
  emit(recovered(101))
  expect(log.lines().map(({ code, phase }) => [code, phase])).toEqual([
    ['timeout', 'begins'],
    ['network', 'begins'],
    ['timeout', 'ends'],
    ['network', 'ends'],
  ])
})

it('a message that one place takes does not end the failure of another', () => {
  const { emit, phases } = setUp()
  const failure = new Failure('retry', 'network', 'notify pager: connection refused')
  emit({ name: 'NoticeFailed', place: 'pager', failure })
  emit({ name: 'NoticeSent', place: 'ops' })
  expect(phases()).toEqual(['NoticeFailed begins'])
  emit({ name: 'NoticeSent', place: 'pager' })
  expect(phases()).toEqual(['NoticeFailed begins', 'NoticeFailed ends'])
})
