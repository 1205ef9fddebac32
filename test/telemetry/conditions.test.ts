import { describe, expect, it } from 'vitest'
import type { Day } from '../../src/domain/day.ts'
import { Failure, type FailureCode } from '../../src/domain/failure.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { matching } from './log-lines.ts'
import { day, failed, minute, setUp, streamOf } from './stage.ts'

describe('other conditions', () => {
  it('throttled: over a minute after the last pause', async () => {
    const { clock, log, emit, tick } = setUp()
    for (let pauses = 0; pauses < 3; pauses++) {
      emit({ name: 'ApiThrottled', account: 'default', untilMs: clock.now() + 5000 })
      await clock.advance(minute)
    }
    expect(log.lines()).toMatchObject([
      {
        phase: 'begins',
        msg: 'account default: the API asks for a pause of 5 s (429)',
        until: '2026-11-20T12:00:05.000Z',
      },
    ])
    await clock.advance(5000)
    tick()
    expect(log.lines()).toMatchObject([{ phase: 'begins' }, { phase: 'ends', count: 3 }])
  })

  it('guarded scan: lasts until the scan completes', () => {
    const { log, emit } = setUp()
    emit({ name: 'ScanGuarded', stream: streamOf(101), guard: 'cursor_cycle', pages: 12 })
    emit(failed(101, { code: 'scan_guarded' }))
    emit({ name: 'ScanGuarded', stream: streamOf(102), guard: 'cursor_cycle', pages: 12 })
    emit({ name: 'ScanCompleted', stream: streamOf(101), kind: 'full', pages: 2, found: 1, seconds: 1 })
    expect(log.lines()).toHaveLength(1)
    emit({ name: 'ScanCompleted', stream: streamOf(102), kind: 'full', pages: 2, found: 1, seconds: 1 })
    expect(log.lines().map(({ event, phase }) => [event, phase])).toEqual([
      ['ScanGuarded', 'begins'],
      ['ScanGuarded', 'ends'],
    ])
  })

  it('trouble of the queue: begins once for each cause, and all of them end together', async () => {
    const { clock, log, emit } = setUp()
    const trouble = (code: FailureCode, text: string): InternalEvent => ({
      name: 'QueueFailed',
      error: new Failure('retry', code, `the store (redis://h:1/0) failed: ${text}; shieldlog tries again`),
    })
    for (let elapsed = 0; elapsed < 12; elapsed++) {
      emit(trouble('store_unavailable', 'connect ECONNREFUSED'))
      emit(trouble('store_refuses', 'LOADING'))
      await clock.advance(5_000)
    }
    emit({ name: 'QueueRecovered' })
    emit({ name: 'QueueRecovered' })
    expect(log.lines().map(({ event, phase, msg }) => [event, phase, msg])).toEqual([
      [
        'QueueFailed',
        'begins',
        'the queue stands still: the store (redis://h:1/0) failed: connect ECONNREFUSED; shieldlog tries again',
      ],
      [
        'QueueFailed',
        'begins',
        'the queue stands still: the store (redis://h:1/0) failed: LOADING; shieldlog tries again',
      ],
      [
        'QueueFailed',
        'ends',
        'ended after 60 s: the queue stands still: the store does not answer (12 times)',
      ],
      [
        'QueueFailed',
        'ends',
        'ended after 60 s: the queue stands still: the store refuses the work (12 times)',
      ],
    ])
  })

  it('clock skew: one warning, one end', async () => {
    const { clock, log, emit } = setUp()
    for (let elapsed = 0; elapsed < 100; elapsed++) {
      emit({ name: 'ClockSkewMeasured', account: 'default', offsetMs: 120_000 })
      await clock.advance(minute)
    }
    emit({ name: 'ClockSkewMeasured', account: 'default', offsetMs: Number.NaN })
    emit({ name: 'ClockSkewMeasured', account: 'default', offsetMs: -29_000 })
    expect(log.lines().map(({ level, phase, msg }) => [level, phase, msg])).toEqual([
      [
        'warn',
        'begins',
        "account default: the clock of this host is 2 min behind the API's; shieldlog uses the API's clock for days; correct the clock of this host",
      ],
      ['info', 'ends', matching(/^ended after /)],
    ])
  })

  it.each([
    ['TickFailed', { name: 'TickFailed', error: new Error('boom') }],
    ['FileShort', { name: 'FileShort', sink: 'archive', part: 'p', expected: 9, found: 3 }],
    ['Warned', { name: 'Warned', about: 'config', text: 'unknown SHIELDLOG_X' }],
    [
      'GapFound',
      {
        name: 'GapFound',
        gap: { zone: 101, sink: 'siem', day, from: 0, to: 1, reason: 'unreadable', recordedAt: 2 },
      },
    ],
  ] satisfies [string, InternalEvent][])(
    '%s repeated: logged at once, then every ten minutes with a count',
    async (_, internalEvent) => {
      const { clock, log, emit, tick } = setUp()
      for (let elapsed = 0; elapsed < 12; elapsed++) {
        emit(internalEvent)
        await clock.advance(minute)
      }
      expect(log.lines().map(({ count }) => count)).toEqual([1, 11])
      for (let elapsed = 0; elapsed < 30; elapsed++) {
        await clock.advance(minute)
        tick()
      }
      expect(log.lines().map(({ count }) => count)).toEqual([1, 11, 12])
      emit(internalEvent)
      expect(log.lines()).toHaveLength(4)
    },
  )

  it('reports repeated ids once', async () => {
    const { clock, log, emit } = setUp()
    for (let zone = 101; zone < 600; zone++) {
      emit({ name: 'IdSeenWithOtherTime', stream: streamOf(zone), id: `evil\n${zone}` })
      await clock.advance(minute)
    }
    expect(log.lines()).toHaveLength(1)
  })

  it('reports log ids that events share once for a zone and day, for as many days as it runs', async () => {
    const { clock, log, emit } = setUp()
    for (let number = 0; number < 300; number++) {
      const day = new Date(Date.UTC(2026, 10, 20 + number)).toISOString().slice(0, 10) as Day
      for (const sink of ['archive', 'siem'])
        emit({ name: 'IdSharedByEvents', stream: { ...streamOf(101), sink, day }, id: `e~${number}` })
      await clock.advance(24 * 60 * minute)
    }
    expect(log.lines()).toHaveLength(300)
    expect(log.lines()[0]).toMatchObject({ level: 'warn', zone: 101, id: 'e~0' })
  })

  it('does not grow with received texts', () => {
    const { log, emit } = setUp()
    for (let index = 0; index < 5000; index++)
      emit({ name: 'Warned', about: 'sink', text: `odd answer ${index}` })
    expect(log.lines().length).toBeLessThanOrEqual(201)
    log.clear()
    emit(failed(101))
    expect(log.lines()).toMatchObject([{ event: 'StreamFailed', phase: 'begins' }])
  })
})
