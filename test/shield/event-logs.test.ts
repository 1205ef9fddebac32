import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { dayOf, shiftDay, type Day } from '../../src/domain/day.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { isFailure } from '../../src/domain/failure.ts'
import type { Cursor, Page } from '../../src/domain/scan/page.ts'
import type { PageRequest } from '../../src/ports/delivery.ts'
import { fetchAhead } from '../../src/pump/fetch-page.ts'
import type { ShieldClientOptions } from '../../src/shield/client/client.ts'
import { createEventLogSource, PageEnds } from '../../src/shield/event-logs.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { type SimulatorOptions, startSimulator } from '../../src/simulator/simulator.ts'
import { noTracer } from '../fakes/no-tracer.ts'
import { named } from '../sinks/internal-events.ts'
import { answer, emptyPage, never, startedApi } from './shield-api.ts'
import { defaults, entry, log } from './samples.ts'
import * as faults from '../simulator/faults.ts'

const redactor = createRedactor(defaults)
const today = dayOf(Date.now())
const yesterday = shiftDay(today, -1)
type Read = (request?: Partial<PageRequest>, signal?: AbortSignal) => Promise<Page>

/** A server that the test answers for; `read` reads the first page of a live stream. */
async function scripted(changes: Partial<ShieldClientOptions> = {}) {
  const api = await startedApi(changes)
  api.reply(answer(200, emptyPage))
  const parses = vi.fn(() => redactor)
  const source = createEventLogSource(() => api.client, parses)
  const zone = { id: 101, name: 'shop', account: 'main' }
  const first = { zone, day: today, cursor: null, priority: 'live' } as const
  const read: Read = (request, signal = never) => source.fetchPage({ ...first, ...request }, signal)
  const deps = { source, clock: api.clock, tracer: noTracer }
  const job = { stream: { zone: zone.id, day: today, sink: 'archive' }, priority: 'live' } as const
  const ahead = (signal = never) => fetchAhead({ deps, job }, first, signal)
  return { api, read, ahead, parses }
}

async function simulated(options: SimulatorOptions = {}, firstPage = 'omit') {
  const simulator = await startSimulator({ days: 25, pageSize: 10, ...options })
  onTestFinished(() => simulator.close())
  const idsOf = () => simulator.entries(101, yesterday).map(({ logId }) => logId)
  return { simulator, idsOf, ...(await scripted({ baseUrl: simulator.url, firstPage })) }
}

/** All events of yesterday. */
async function readAll(read: Read): Promise<Event[]> {
  const events: Event[] = []
  let cursor: Cursor | null = null
  for (let pages = 0; pages < 50; pages++) {
    const page = await read({ day: yesterday, cursor })
    const content = page.content()
    events.push(...content.events)
    page.release()
    if (!content.more) return events
    cursor = content.next
  }
  throw new Error('the listing does not end')
}

const sortedIds = (events: readonly Event[]) => events.map(({ id }) => id).toSorted()

describe('the address of a page', () => {
  const day = '2026-11-09' as Day
  it.each([
    ['omit', null, ''],
    ['empty', null, '/'],
    ['start', null, '/start'],
    ['a/b', null, '/a%2Fb'],
    ['omit', 'a/b=c?d%e f#g+h', '/a%2Fb%3Dc%3Fd%25e%20f%23g%2Bh'],
    ['omit', '..', '/%2E%2E'],
    ['omit', '.', '/%2E'],
    ['omit', '../../../mc', '/..%2F..%2F..%2Fmc'],
    ['omit', 'é\ud800', '/%C3%A9%EF%BF%BD'],
    ['omit', 'a\r\nb', '/a%0D%0Ab'],
  ])('first page %j, cursor %j', async (firstPage, cursor, path) => {
    const { api, read } = await scripted({ firstPage })
    await read({ day, cursor: cursor as Cursor | null })
    expect(api.requests[0]?.url).toBe(`/shield/event-logs/101/11-09-2026${path}`)
  })
})

describe('a page', () => {
  const logs: unknown[] = []
  it.each([
    [{ logs, hasMoreData: false, continuationToken: 't' }, false, null],
    [{ logs: null, hasMoreData: false, continuationToken: null }, false, null],
    [{ logs, hasMoreData: true, continuationToken: 12 }, true, '12'],
    [{ logs, hasMoreData: true, continuationToken: '' }, true, null],
    [{ logs, hasMoreData: true }, true, null],
    [{ logs, hasMoreData: true, continuationToken: 't', startToken: 's' }, true, 't'],
    ['{"logs":[],"hasMoreData":true,"continuationToken":12345678901234567890}', true, '12345678901234567890'],
    [{ ...emptyPage, errorResponse: { success: false, message: null, errorKey: '' } }, false, null],
  ])('%j', async (body, more, next) => {
    const { api, read } = await scripted()
    for (const status of [200, 202]) {
      api.reply(answer(status, body))
      const page = await read()
      expect(page.content()).toMatchObject({ more, next })
      expect(page.bytes).toBe((typeof body === 'string' ? body : JSON.stringify(body)).length)
      page.release()
    }
    expect(api.budget.heldBytes).toBe(0)
  })

  it('has entries with the numbers that were received', async () => {
    const { api, read } = await scripted()
    const entries = ['1795894059759000000,"a":1e400', '1795894059759000001,"a":-0']
    const logs = entries.map((of) => `{"logId":${of},"timestamp":1795894059759,"labels":{"n":1.0}}`)
    api.reply(answer(200, `{"logs":[${logs.join(',')}],"hasMoreData":false}`))
    const page = await read()
    const { events } = page.content()
    page.release()
    expect(events.map(({ id }) => id)).toEqual(['1795894059759000000', '1795894059759000001'])
    expect(events.map(({ other, labels }) => JSON.stringify([other, labels]))).toEqual([
      '[{"a":1e400},{"n":1.0}]',
      '[{"a":-0},{"n":1.0}]',
    ])
  })

  it.each([
    ['', 'empty (status 200'],
    ['null', 'it is null'],
    ['[]', 'it is a list'],
    ['"secret"', 'it is a text'],
    ['{}', 'hasMoreData is missing'],
    ['<html>captive</html>', 'HTML: "captive" (status 200'],
    ['{"logs":[],"hasMoreData":NaN}', `page 1 of zone 101, ${today} is invalid JSON at byte 25 of 29: NaN`],
    [{ logs: {}, hasMoreData: false }, 'logs is an object'],
    [{ hasMoreData: false }, 'logs is missing'],
    [{ logs: JSON.stringify(logs), hasMoreData: false }, 'logs is a text'],
    [{ logs, hasMoreData: 'false' }, 'hasMoreData is "false"'],
    [{ logs, hasMoreData: null }, 'hasMoreData is null'],
    [{ logs }, 'hasMoreData is missing'],
  ])('is not %j: %s', async (body, why) => {
    const { api, read } = await scripted()
    api.reply(answer(200, body))
    const error: unknown = await read().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'retry', code: 'bad_body' })
    expect(String(error)).toContain(why)
    expect(String(error)).not.toContain('secret')
    expect(api.budget.heldBytes).toBe(0)
  })

  it('with a raw control character or a bad escape in an entry is read all the same, and named', async () => {
    const { api, read } = await scripted()
    const logs = [entry({ logId: 'a' }), entry({ logId: 'b', log: JSON.stringify({ ...log, Url: '/x?@' }) })]
    const valid = JSON.stringify({ ...emptyPage, logs })
    const ids: string[][] = []
    for (const bad of ['\u0001', '\\x41', '\\\n']) {
      api.reply(answer(200, valid.replace('@', bad)))
      const cursor = bad === '\u0001' ? null : ('c' as Cursor)
      const { events } = (await read({ cursor, scan: { pages: 2, fromStoredCursor: false } })).content()
      ids.push(events.map(({ fingerprint }) => String(fingerprint)))
      expect(events[1]?.request?.url).toBe(`/x?${bad}`)
    }
    api.reply(answer(200, valid))
    ids.push((await read()).content().events.map(({ fingerprint }) => String(fingerprint)))
    expect(new Set(ids.map(String)).size).toBe(1)
    const told = named(api.internalEvents, 'PageRepaired')
    const at = valid.indexOf('@')
    expect(told.map((each) => [each.zone, each.page, each.at])).toEqual([
      [101, `page 1 of zone 101, ${today}`, at],
      [101, `page 3 of zone 101, ${today}`, at],
      [101, `page 3 of zone 101, ${today}`, at],
    ])
  })

  it.each([
    [{ cursor: null }, 'page 1 of zone'],
    [{ cursor: 'c' as Cursor }, 'a later page of zone'],
    [{ scan: { pages: 4, fromStoredCursor: false }, cursor: 'c' as Cursor }, 'page 5 of zone'],
    [
      { scan: { pages: 0, fromStoredCursor: true }, cursor: 'c' as Cursor },
      'page 1 after a stored cursor of',
    ],
  ])('is named by its place: %j', async (request, name) => {
    const { api, read } = await scripted()
    api.reply(answer(200, '{'))
    await expect(read(request)).rejects.toThrow(name)
  })
})

describe('against the simulator', () => {
  it.each<[SimulatorOptions, string]>([
    [{ firstPage: 'empty' }, 'empty'],
    [{ firstPage: 'start' }, 'start'],
    [{ lastToken: 'repeated', order: 'newest-first' }, 'omit'],
    [{ tokens: 'snapshot', lastToken: 'null' }, 'omit'],
    [{ tokens: 'anchor' }, 'omit'],
  ])('reads a whole day: %j', async (options, firstPage) => {
    const { read, idsOf } = await simulated(options, firstPage)
    expect(sortedIds(await readAll(read))).toEqual(idsOf().toSorted())
  })

  it('distinguishes a wrong key, an unknown zone, a day that is no longer kept, an expired cursor and a page that is too large', async () => {
    const { simulator, read } = await simulated({ accessKey: 'k-hunter2' })
    const { next } = (await read()).content()
    simulator.expireTokens()
    await expect(read({ cursor: next })).rejects.toMatchObject({ code: 'cursor_expired' })
    const zone = { id: 999, name: '', account: 'main' }
    await expect(read({ zone })).rejects.toMatchObject({ code: 'zone_gone', kind: 'refuse' })
    const error: unknown = await read({ day: shiftDay(today, -3) }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'window_closed', kind: 'refuse' })
    expect(isFailure(error) && Math.abs((error.details.serverDate ?? 0) - Date.now())).toBeLessThan(60_000)
    for (const fault of [
      faults.encode({ encoding: 'gzip', bytes: 100_000_000 }),
      faults.oversized({ bytes: 2_000_000 }),
    ]) {
      simulator.fail({ fault })
      await expect(read()).rejects.toMatchObject({ code: 'page_too_large', kind: 'refuse' })
    }
    simulator.set({ accessKey: 'another' })
    await expect(read()).rejects.toMatchObject({ code: 'unauthorised', kind: 'stop' })
  })
})

it('the ends of the latest pages are kept, however many entries they have, within one bound of entries', () => {
  const ends = new PageEnds()
  const endOf = (page: number) =>
    new Map(Array.from({ length: 100 }, (_, index) => [BigInt(page * 100 + index), new Set([`e${index}`])]))
  const cursors = Array.from({ length: 1_000 }, (_, page) => String(page) as Cursor)
  for (const [page, cursor] of cursors.entries()) {
    ends.keep('101/2026-11-20', cursor, endOf(page))
    // A page that is read again takes no more room.
    ends.keep('101/2026-11-20', cursor, endOf(page))
  }
  const kept = cursors.filter((cursor) => ends.before('101/2026-11-20', cursor) !== undefined)
  expect(kept).toEqual(cursors.slice(-200))
})

describe('an answer that was read before', () => {
  it('is parsed only when its entries are accessed, and only if it is the same', async () => {
    const { api, read } = await scripted()
    const pageOf = (...logs: ReturnType<typeof entry>[]) => answer(200, { ...emptyPage, logs })
    api.reply(pageOf(entry()), pageOf(entry()), pageOf(entry(), entry({ logId: 'other' })))
    const { hash = '', content } = await read({ known: '' })
    expect(hash).not.toBe('')
    expect((await scripted().then((other) => other.read())).hash).toBeUndefined()
    const parsed = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parsed.mockRestore())
    const same = await read({ known: hash })
    expect([same.hash, parsed.mock.calls.length]).toEqual([hash, 0])
    expect(same.content().events.map(({ id }) => id)).toEqual(content().events.map(({ id }) => id))
    expect(parsed).toHaveBeenCalled()
    const other = await read({ known: hash })
    expect(other.hash).not.toBe(hash)
    expect(other.content().events).toHaveLength(2)
  })

  it.each([undefined, ''])(
    'holds its entries no longer than its reader, also before its release, known %j',
    async (known) => {
      const { api, read } = await scripted()
      api.reply(answer(200, { ...emptyPage, logs: [entry()] }))
      const readPage = async () => {
        const { content, release } = await read(known === undefined ? {} : { known })
        return { event: new WeakRef(content().events[0]!), release }
      }
      const { event, release } = await readPage()
      setFlagsFromString('--expose-gc')
      await setImmediate()
      ;(runInNewContext('gc') as () => void)()
      expect(event.deref()).toBeUndefined()
      release()
    },
  )

  it('is an error although its hash is known, where its status says so', async () => {
    const { api, read } = await scripted()
    const { hash = '' } = await read({ known: '' })
    api.reply(answer(404, emptyPage))
    await expect(read({ known: hash })).rejects.toMatchObject({ kind: 'refuse' })
  })
})

describe('a page that is fetched ahead', () => {
  const page = { ...emptyPage, logs: [entry()] }
  const pageBytes = JSON.stringify(page).length

  async function fetched(signal = never) {
    const { api, ahead, parses } = await scripted()
    api.reply(answer(200, page))
    const next = ahead(signal)
    // What arrived and is not parsed yet counts four times.
    await expect.poll(() => api.budget.heldBytes).toBe(4 * pageBytes)
    return { api, next, parses }
  }

  it('is not parsed until it is taken', async () => {
    const { next, parses, api } = await fetched()
    await api.clock.advance(5_000)
    expect(parses).not.toHaveBeenCalled()
    expect(named(api.internalEvents, 'ApiAnswered')).toEqual([])
    const taken = await next.take()
    expect(taken.page.content().events).toHaveLength(1)
    // Nobody waited for it, and the API did not take that long either.
    expect(taken.tookMs).toBeLessThan(1_000)
    const told = named(api.internalEvents, 'ApiAnswered')
    expect(told.map(({ outcome, seconds }) => [outcome, seconds < 1])).toEqual([['ok', true]])
    taken.page.release()
    expect(api.budget.heldBytes).toBe(0)
  })

  it('is requested again if the answer is an error, at once or when it is taken', async () => {
    for (const bad of [answer(503), answer(200, JSON.stringify(page).slice(0, -1))]) {
      const { api, ahead } = await scripted()
      api.reply(bad, answer(200, page))
      const next = ahead()
      await expect.poll(() => api.budget.heldBytes).toBeGreaterThan(3 * pageBytes)
      const { page: taken } = await next.take()
      expect(taken.content().events).toHaveLength(1)
      expect(api.requests).toHaveLength(2)
      taken.release()
      expect(api.budget.heldBytes).toBe(0)
    }
  })

  it('can be discarded unread, and is aborted by a stop', async () => {
    const discarded = await fetched()
    await discarded.next.discard()
    expect(discarded.parses).not.toHaveBeenCalled()
    expect(discarded.api.budget.heldBytes).toBe(0)
    const stop = new AbortController()
    const stopped = await fetched(stop.signal)
    stop.abort()
    await stopped.next.discard()
    expect(stopped.api.budget.heldBytes).toBe(0)
  })
})
