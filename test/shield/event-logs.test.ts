import { describe, expect, it, onTestFinished } from 'vitest'
import type { Day } from '../../src/domain/day.ts'
import { dayOf, shiftDay } from '../../src/domain/day.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { isFailure } from '../../src/domain/failure.ts'
import type { Cursor } from '../../src/domain/scan/page.ts'
import type { Source } from '../../src/ports/delivery.ts'
import { createEventLogSource } from '../../src/shield/event-logs.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import {
  type Simulator,
  type SimulatorOptions,
  startSimulator,
  type WireEntry,
} from '../../src/simulator/simulator.ts'
import { answer, emptyPage, never, startedApi, type ShieldApi } from './shield-api.ts'
import { defaults, entry } from './samples.ts'
import * as faults from '../simulator/faults.ts'

const redactor = createRedactor(defaults)
const zone = { id: 101, name: 'shop', account: 'main' }
const today = () => dayOf(Date.now())
async function scripted(firstPage = 'omit'): Promise<{ api: ShieldApi; source: Source }> {
  const api = await startedApi({ firstPage })
  api.reply(answer(200, emptyPage))
  return {
    api,
    source: createEventLogSource(
      () => api.client,
      () => redactor,
    ),
  }
}

async function simulated(options: SimulatorOptions = {}, firstPage = 'omit') {
  const simulator = await startSimulator({ days: 25, pageSize: 10, ...options })
  onTestFinished(() => simulator.close())
  const api = await startedApi({ baseUrl: simulator.url, firstPage })
  return {
    simulator,
    api,
    source: createEventLogSource(
      () => api.client,
      () => redactor,
    ),
  }
}

async function readAll(source: Source, day: Day): Promise<Event[]> {
  const events: Event[] = []
  let cursor: Cursor | null = null
  for (let pages = 0; pages < 50; pages++) {
    const page = await source.fetchPage({ zone, day, cursor, priority: 'live' }, never)
    events.push(...page.events)
    page.release()
    if (!page.more) return events
    cursor = page.next
  }
  throw new Error('the listing does not end')
}

function idsOf(simulator: Simulator, day: Day): string[] {
  return simulator
    .entries(zone.id, day)
    .map((one) => one.logId)
    .sort()
}

describe('the address of a page', () => {
  it.each([
    ['omit', '/shield/event-logs/101/11-09-2026'],
    ['empty', '/shield/event-logs/101/11-09-2026/'],
    ['start', '/shield/event-logs/101/11-09-2026/start'],
    ['a/b', '/shield/event-logs/101/11-09-2026/a%2Fb'],
  ])('first page %j', async (firstPage, path) => {
    const { api, source } = await scripted(firstPage)
    await source.fetchPage({ zone, day: '2026-11-09' as Day, cursor: null, priority: 'live' }, never)
    expect(api.requests[0]?.url).toBe(path)
  })

  it.each([
    ['a/b=c?d%e f#g+h', 'a%2Fb%3Dc%3Fd%25e%20f%23g%2Bh'],
    ['..', '%2E%2E'],
    ['.', '%2E'],
    ['../../../mc', '..%2F..%2F..%2Fmc'],
    ['é\ud800', '%C3%A9%EF%BF%BD'],
    ['a\r\nb', 'a%0D%0Ab'],
  ])('cursor %j is one segment', async (cursor, segment) => {
    const { api, source } = await scripted()
    await source.fetchPage(
      { zone, day: '2026-11-09' as Day, cursor: cursor as Cursor, priority: 'live' },
      never,
    )
    expect(api.requests[0]?.url).toBe(`/shield/event-logs/101/11-09-2026/${segment}`)
  })
})

describe('a page', () => {
  it.each([
    [{ logs: [], hasMoreData: false, continuationToken: 't' }, false, null],
    [{ logs: null, hasMoreData: false, continuationToken: null }, false, null],
    [{ logs: [], hasMoreData: true, continuationToken: 't' }, true, 't'],
    [{ logs: [], hasMoreData: true, continuationToken: 12 }, true, '12'],
    [{ logs: [], hasMoreData: true, continuationToken: '' }, true, null],
    [{ logs: [], hasMoreData: true, continuationToken: null }, true, null],
    [{ logs: [], hasMoreData: true }, true, null],
    [{ logs: [], hasMoreData: true, continuationToken: 't', startToken: 's' }, true, 't'],
    [{ ...emptyPage, errorResponse: { success: false, message: null, errorKey: '' } }, false, null],
  ])('%j', async (body, more, next) => {
    const { api, source } = await scripted()
    for (const status of [200, 202]) {
      api.reply(answer(status, body))
      const page = await source.fetchPage({ zone, day: today(), cursor: null, priority: 'live' }, never)
      expect([page.more, page.next]).toEqual([more, next])
      expect(page.bytes).toBe(JSON.stringify(body).length)
      page.release()
    }
    expect(api.budget.heldBytes).toBe(0)
  })

  it.each([
    ['', 200],
    ['null', 200],
    ['[]', 200],
    ['{}', 200],
    ['<html>captive</html>', 200],
    [{ logs: {}, hasMoreData: false }, 200],
    [{ logs: 'x', hasMoreData: false }, 200],
    [{ hasMoreData: false }, 200],
    [{ logs: [], hasMoreData: 'false' }, 200],
    [{ logs: [] }, 200],
    [{ Message: 'Authorization has been denied' }, 200],
    ['', 204],
  ])('is not %j', async (body, status) => {
    const { api, source } = await scripted()
    api.reply(answer(status, body))
    const asking = source.fetchPage({ zone, day: today(), cursor: null, priority: 'live' }, never)
    await expect(asking).rejects.toMatchObject({ kind: 'retry', code: 'bad_body' })
    expect(api.budget.heldBytes).toBe(0)
  })

  it('has an event for every entry, whatever else is in it', async () => {
    const { api, source } = await scripted()
    const logs = [
      entry(),
      null,
      'text',
      7,
      [],
      {},
      { logId: 'a', timestamp: 'soon', labels: 5, log: [] },
      entry(),
    ]
    api.reply(answer(200, { ...emptyPage, logs }))
    const { events } = await source.fetchPage({ zone, day: today(), cursor: null, priority: 'live' }, never)
    expect(events.length).toBe(logs.length)
    expect(events[0]?.zone).toEqual({ id: 101, name: 'shop' })
    expect(events[0]?.fingerprint).toBe(events[7]?.fingerprint)
  })

  it('with one bad byte loses no event', async () => {
    const { api, source } = await scripted()
    const text = JSON.stringify({ ...emptyPage, logs: [entry({ logId: 'a#b' }), entry({ logId: 'c' })] })
    api.reply(answer(200, Buffer.from(text.replace('#', '\u00ff'), 'latin1')))
    const { events } = await source.fetchPage({ zone, day: today(), cursor: null, priority: 'live' }, never)
    expect(events.map(({ id }) => id)).toEqual(['a\ufffdb', 'c'])
  })
})

describe('against the simulator', () => {
  it.each([
    [{}, 'omit'],
    [{ firstPage: 'empty' }, 'empty'],
    [{ firstPage: 'start' }, 'start'],
    [{ lastToken: 'repeated', order: 'newest-first' }, 'omit'],
    [{ tokens: 'snapshot', lastToken: 'null' }, 'omit'],
    [{ tokens: 'anchor' }, 'omit'],
  ] as [SimulatorOptions, string][])('reads a whole day: %j', async (options, firstPage) => {
    const { simulator, source } = await simulated(options, firstPage)
    const day = shiftDay(today(), -1)
    expect((await readAll(source, day)).map(({ id }) => id).sort()).toEqual(idsOf(simulator, day))
  })

  const noError = { success: false, message: null, errorKey: null }
  const decoded = ({ log }: WireEntry) => JSON.parse(log as string) as object
  it.each([
    faults.encode({ encoding: 'gzip' }),
    faults.encode({ encoding: 'br' }),
    faults.encode({ encoding: 'zstd' }),
    faults.wrongTypes({ fields: { errorResponse: noError } }),
    faults.reshaped('seconds and an object', (entry) => ({
      ...entry,
      log: decoded(entry),
      timestamp: Math.floor(entry.timestamp / 1e3),
    })),
    faults.reshaped('us and text', (entry) => ({ ...entry, log: 'plain', timestamp: entry.timestamp * 1e3 })),
    faults.reshaped('ns and null', (entry) => ({ ...entry, log: null, timestamp: entry.timestamp * 1e6 })),
  ])('reads a whole day of another form: $kind', async (fault) => {
    const { simulator, source } = await simulated()
    simulator.fail({ fault, times: Infinity })
    const day = shiftDay(today(), -1)
    const events = await readAll(source, day)
    expect(events.map(({ id }) => id).sort()).toEqual(idsOf(simulator, day))
    for (const { time } of events) expect(time?.slice(0, 10)).toBe(day)
  })

  it.each([
    faults.reset(),
    faults.reset({ when: 'mid' }),
    faults.cut(),
    faults.notJson(),
    faults.status({ status: 500 }),
    faults.status({ status: 502, body: '<html>', contentType: 'text/html' }),
    faults.throttle({ retryAfter: 1 }),
    faults.throttle({ retryAfter: { inMs: 2000 } }),
    faults.throttle(),
    faults.encode({ encoding: 'deflate' }),
    faults.encode({ encoding: 'gzip', label: 'br' }),
    faults.duplicateKeys(),
    faults.wrongTypes(),
  ])('loses nothing to occasional %j', async (fault) => {
    const { simulator, source } = await simulated()
    simulator.fail({ fault, every: 2, times: Infinity })
    const day = shiftDay(today(), -1)
    expect((await readAll(source, day)).map(({ id }) => id).sort()).toEqual(idsOf(simulator, day))
  })

  it('recognises a day that is no longer kept, whatever the status', async () => {
    const { simulator, source } = await simulated()
    for (const days of [-3, 1]) {
      const error = await failureOf(source, shiftDay(today(), days), null)
      expect(error).toMatchObject({ code: 'window_closed', kind: 'refuse' })
      expect(isFailure(error) && Math.abs((error.details.serverDate ?? 0) - Date.now())).toBeLessThan(5000)
    }
    const errorKey = 'invalid_datetime_window.event_logs'
    simulator.fail({ fault: faults.errorKey({ errorKey, status: 400 }) })
    expect(await failureOf(source, today(), null)).toMatchObject({ code: 'window_closed', kind: 'refuse' })
  })

  it('distinguishes a wrong key, an unknown zone, an expired cursor and a page that is too large', async () => {
    const { simulator, source, api } = await simulated({ accessKey: 'k-hunter2' })
    const day = today()
    const { next } = await source.fetchPage({ zone, day, cursor: null, priority: 'live' }, never)
    simulator.expireTokens()
    expect(await failureOf(source, day, next)).toMatchObject({ code: 'cursor_expired' })
    expect(await failureOf(source, day, null, 999)).toMatchObject({ code: 'zone_gone', kind: 'refuse' })
    simulator.fail({ fault: faults.bomb({ bytes: 100_000_000 }) })
    expect(await failureOf(source, day, null)).toMatchObject({ code: 'page_too_large', kind: 'refuse' })
    simulator.fail({ fault: faults.oversized({ bytes: 2_000_000 }) })
    expect(await failureOf(source, day, null)).toMatchObject({ code: 'page_too_large', kind: 'refuse' })
    simulator.set({ accessKey: 'another' })
    expect(await failureOf(source, day, null)).toMatchObject({ code: 'unauthorised', kind: 'stop' })
    expect(
      api.internalEvents.some((one) => one.name === 'ApiAnswered' && one.outcome === 'unauthorised'),
    ).toBe(true)
  })

  it('creates an event from every invalid entry', async () => {
    const { simulator, source } = await simulated()
    simulator.fail({ fault: faults.badEntries() })
    simulator.fail({ fault: faults.missingIds() })
    for (let page = 0; page < 2; page++) {
      const { events } = await source.fetchPage({ zone, day: today(), cursor: null, priority: 'live' }, never)
      expect(events.length).toBeGreaterThan(3)
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
    }
  })
})

async function failureOf(source: Source, day: Day, cursor: Cursor | null, id = zone.id): Promise<unknown> {
  const asking = source.fetchPage({ zone: { ...zone, id }, day, cursor, priority: 'live' }, never)
  return await asking.then(
    () => 'no failure',
    (error: unknown) => error,
  )
}
