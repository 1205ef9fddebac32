import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { Cursor, Page } from '../../src/domain/scan/page.ts'
import type { PageRequest } from '../../src/ports/delivery.ts'
import { PageBudget, type Reservation } from '../../src/shield/client/page-budget.ts'
import { sharePages } from '../../src/shield/shared-pages.ts'
import { dayAt } from '../domain/builders.ts'
import { createFakeClock, type FakeClock } from '../fakes/fake-clock.ts'

const never = new AbortController().signal
/** That a kept page counts, however small. */
const leastBytes = 16_384
const first = {
  zone: { id: 101, name: 'shop', account: 'default' },
  day: dayAt('2026-11-20'),
  cursor: null,
  priority: 'live',
  requestedSince: 0,
} as const

/** A request at the source, which a test answers. */
interface Asked {
  readonly request: PageRequest
  readonly signal: AbortSignal
  answer(bytes?: number, content?: Page['content']): Promise<void>
  fail(failure: Failure): void
}

let clock: FakeClock
let asked: Asked[]
let budget: PageBudget
/** How often the bytes of an answer were given back. */
let gaveBack: number
let source: ReturnType<typeof sharePages>

beforeEach(() => {
  clock = createFakeClock(1_000_000, true)
  asked = []
  gaveBack = 0
  budget = new PageBudget(100)
  source = sharePages({ fetchPage, reserve }, { sinks: 3, keptBytes: 5 * leastBytes, clock })
})

const reserve = ({ sink, ifRoom }: PageRequest, signal: AbortSignal) =>
  budget.reserve(() => 10, signal, sink, ifRoom)

function fetchPage(request: PageRequest, signal: AbortSignal, memory?: Reservation): Promise<Page> {
  const requestedAt = clock.steady()
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    asked.push({
      request,
      signal,
      fail: reject,
      async answer(bytes = 1, content = () => ({ events: [], more: false, next: null })) {
        const own = memory ?? (await reserve(request, signal))
        const release = () => {
          own.release()
          gaveBack++
        }
        resolve({ content, bytes, requestedAt, clockOffsetMs: 0, release })
      },
    })
  })
}

const ask = (sink: string, more: Partial<PageRequest> = {}, signal = never) =>
  source.fetchPage({ ...first, sink, ...more }, signal)

async function landed(...sinks: readonly string[]): Promise<Page[]> {
  const pages = sinks.map((sink) => ask(sink))
  await turn()
  await asked.at(-1)!.answer()
  return Promise.all(pages)
}

describe('streams of a zone and day', () => {
  it('get one answer for the same page, whose time is learned by the one that asked', async () => {
    const pages = await landed('a', 'b', 'c')
    expect(asked).toHaveLength(1)
    expect(pages.map(({ shared }) => shared?.tookMs)).toEqual([undefined, 0, 0])
    expect(pages[1]!.content).toBe(pages[0]!.content)
  })

  it.each([
    { what: 'another page', more: { cursor: 'next' as Cursor } },
    { what: 'another day', more: { day: dayAt('2026-11-19') } },
    { what: 'another zone', more: { zone: { ...first.zone, id: 102 } } },
    { what: 'another account', more: { zone: { ...first.zone, account: 'other' } } },
    { what: 'another priority', more: { priority: 'backfill' as const } },
    { what: 'an answer that was requested later', more: { requestedSince: 1_000_001 } },
  ])('ask for themselves where they need $what', async ({ more }) => {
    await landed('a')
    void ask('b', more)
    await turn()
    expect(asked).toHaveLength(2)
  })

  it('ask for themselves where a request names no instant', async () => {
    await landed('a')
    const { requestedSince: _, ...own } = first
    void source.fetchPage({ ...own, sink: 'b' }, never)
    expect(asked).toHaveLength(2)
  })

  it('get an answer that has arrived while it is fresh, and without that limit as long as it is kept', async () => {
    await landed('a')
    await clock.advance(5_001)
    await ask('b')
    expect(asked).toHaveLength(1)
    void ask('c', { freshForMs: 5_000 })
    await turn()
    expect(asked).toHaveLength(2)
  })

  it('that come later ask again once all sinks have taken it', async () => {
    await landed('a', 'b', 'c')
    void ask('a')
    await turn()
    expect(asked).toHaveLength(2)
  })

  it('get the failure of a request only if they waited for it', async () => {
    const waited = [ask('a'), ask('b')].map((page) => page.catch((error: unknown) => error))
    await turn()
    asked[0]!.fail(new Failure('retry', 'network', 'no route'))
    expect(await Promise.all(waited)).toMatchObject([{ code: 'network' }, { code: 'network' }])
    void ask('c')
    await turn()
    expect(asked).toHaveLength(2)
  })

  it('do not end a request that others wait for; the last one ends it', async () => {
    const [one, two] = [new AbortController(), new AbortController()]
    const pages = [ask('a', {}, one.signal), ask('b', {}, two.signal)].map((page) => page.catch(() => 'left'))
    await turn()
    one.abort()
    expect(await pages[0]).toBe('left')
    expect(asked[0]!.signal.aborted).toBe(false)
    two.abort()
    expect(await pages[1]).toBe('left')
    expect(asked[0]!.signal.aborted).toBe(true)
  })

  it('get the answer whose asker has left, and its memory is given back', async () => {
    const left = new AbortController()
    const pages = [ask('a', {}, left.signal).catch(() => 'left'), ask('b')] as const
    await turn()
    left.abort()
    await pages[0]
    // Its sink holds nothing any more.
    expect(budget.heldBytes).toBe(10)
    const other = budget.reserveIfRoom(90, 'a')!
    other.release()
    await asked[0]!.answer()
    ;(await pages[1]).release()
    ;(await ask('c')).release()
    ;(await ask('d')).release()
    expect(budget.heldBytes).toBe(0)
  })

  it('get no answer that turned out to be no page when one of them parsed it', async () => {
    const page = ask('a', { ahead: true })
    await turn()
    await asked[0]!.answer(1, () => {
      throw new Failure('retry', 'bad_body', 'no page')
    })
    expect((await page).content).toThrow('no page')
    void ask('b')
    await turn()
    expect(asked).toHaveLength(2)
  })
})

/** Sink `a` reads a page, and gives its memory back. */
async function read(cursor: string | null, bytes = 1, more: Partial<PageRequest> = {}): Promise<void> {
  const page = ask('a', { cursor: cursor as Cursor, ...more })
  await turn()
  await asked.at(-1)!.answer(bytes)
  ;(await page).release()
}

/** Whether sink `b` gets what `a` has read. */
async function isKept(cursor: string | null, more: Partial<PageRequest> = {}): Promise<boolean> {
  const stop = new AbortController()
  const asks = ask('b', { cursor: cursor as Cursor, ...more }, stop.signal).catch(() => undefined)
  await turn()
  stop.abort()
  const page = await asks
  page?.release()
  return page !== undefined
}

describe('a page that has arrived is kept for the other sinks', () => {
  it('beside the memory of those who hold it; who takes it pays for it', async () => {
    await read('1')
    expect(budget.heldBytes).toBe(0)
    const page = await ask('b', { cursor: '1' as Cursor })
    expect([asked.length, budget.heldBytes]).toEqual([1, 10])
    page.release()
    page.release()
    expect(budget.heldBytes).toBe(0)
  })

  it.each([
    { what: 'four times its body', bytes: leastBytes / 4, kept: '34567' },
    { what: 'at least 16 KiB, if it is small', bytes: 1, kept: '34567' },
    { what: 'four times its body, if that is more', bytes: leastBytes / 2, kept: '67' },
  ])('up to a bound, the oldest go first; it counts $what', async ({ bytes, kept }) => {
    for (const cursor of '1234567') await read(cursor, bytes)
    const found = await Promise.all('1234567'.split('').map((cursor) => isKept(cursor)))
    expect(
      '1234567'
        .split('')
        .filter((_, index) => found[index] === true)
        .join(''),
    ).toBe(kept)
  })

  it('however long the backlog of another day is: the day that holds most gives way', async () => {
    const poll = { day: dayAt('2026-11-19') }
    await read('0', 1, poll)
    for (let page = 1; page < 50; page++) await read(`${page}`)
    await read('1', 1, poll)
    expect(await Promise.all([isKept('0', poll), isKept('1', poll)])).toEqual([true, true])
    expect(await Promise.all([isKept('49'), isKept('47'), isKept('46')])).toEqual([true, true, false])
    // One that is larger than all takes no place from others.
    await read('2', 100 * leastBytes, { day: dayAt('2026-11-18') })
    expect(await isKept('49')).toBe(true)
  })

  it('until every sink has taken it, and a page that serves for seconds only no longer', async () => {
    for (const day of [dayAt('2026-11-18'), dayAt('2026-11-19')])
      await read(null, 1, { day, freshForMs: 5_000 })
    await clock.advance(5_001)
    for (const cursor of '1234') await read(cursor)
    expect(await Promise.all('1234'.split('').map((cursor) => isKept(cursor)))).toEqual([
      true,
      true,
      true,
      true,
    ])
    for (const sink of ['b', 'c']) (await ask(sink, { cursor: '1' as Cursor })).release()
    expect(await isKept('1')).toBe(false)
  })

  it('unless a later request has taken its place', async () => {
    const slow = ask('a')
    await turn()
    await clock.advance(10)
    const later = ask('b', { requestedSince: clock.steady() })
    await turn()
    for (const { answer } of [...asked].reverse()) await answer()
    expect((await slow).requestedAt).toBe(1_000_000)
    expect((await ask('c')).requestedAt).toBe((await later).requestedAt)
    expect(asked).toHaveLength(2)
  })

  it('which stays when the earlier one turns out to be no page', async () => {
    const slow = ask('a')
    await turn()
    await clock.advance(10)
    const later = ask('b', { requestedSince: clock.steady() })
    await turn()
    await asked[1]!.answer()
    await asked[0]!.answer(1, () => {
      throw new Failure('retry', 'bad_body', 'no page')
    })
    const page = await slow
    expect(() => page.content()).toThrow('no page')
    expect((await ask('c')).requestedAt).toBe((await later).requestedAt)
    expect(asked).toHaveLength(2)
  })
})

describe('the memory of a shared page', () => {
  it('counts once in all, and for each sink that holds it; it is free once all have released it', async () => {
    const pages = await landed('a', 'b', 'c')
    expect(budget.heldBytes).toBe(10)
    pages[0]!.release()
    pages[1]!.release()
    expect(budget.heldBytes).toBe(10)
    pages[2]!.release()
    expect(budget.heldBytes).toBe(0)
  })

  it('is reserved before the request: a sink without room waits by itself, and joins what others asked for', async () => {
    const hung = await filled('b')
    const waits = ask('b')
    await expect(ask('b', { ifRoom: true })).rejects.toMatchObject({ code: 'no_room' })
    expect(asked).toHaveLength(0)
    const [page] = await landed('a')
    expect(budget.heldBytes).toBe(45)
    hung.release()
    expect((await waits).shared).toBeDefined()
    expect([asked.length, budget.heldBytes]).toEqual([1, 10])
    ;(await waits).release()
    page!.release()
  })

  it.each([
    { what: 'others hold', isHeld: true },
    { what: 'is kept', isHeld: false },
  ])(
    'is no part of the share of a sink that has no room for a page that $what: it waits for that one',
    async ({ isHeld }) => {
      const [page] = await landed('a')
      if (!isHeld) page!.release()
      const hung = await filled('b')
      let hasIt = false
      const waits = ask('b')
      void waits.then(() => (hasIt = true))
      await turn()
      expect([asked.length, budget.heldBytes, hasIt]).toEqual([1, isHeld ? 45 : 35, false])
      hung.release()
      expect((await waits).content).toBe(page!.content)
      expect([asked.length, budget.heldBytes]).toEqual([1, 10])
    },
  )

  it.each([0, 1, 2, 3, 4, 5])(
    'is given back where all streams leave at the moment in which their page lands: %d steps after the answer',
    async (steps) => {
      const stop = new AbortController()
      const pages = ['a', 'b'].map((sink) => ask(sink, {}, stop.signal).catch(() => undefined))
      await turn()
      void asked[0]!.answer()
      for (let step = 0; step < steps; step++) await Promise.resolve()
      stop.abort()
      for (const page of await Promise.all(pages)) page?.release()
      await turn()
      expect(budget.heldBytes).toBe(0)
    },
  )
})

/** Takes so much of a sink's share that no page fits. */
async function filled(sink: string): Promise<Reservation> {
  for (const each of ['a', 'b', 'c']) (await budget.reserve(() => 1, never, each)).release()
  return budget.reserve(() => 35, never, sink)
}

describe('the bytes of an answer are given back', () => {
  it('by its last reader, once every sink has taken it', async () => {
    const [one, two, three] = await landed('a', 'b', 'c')
    one!.release()
    two!.release()
    two!.release()
    expect(gaveBack).toBe(0)
    three!.release()
    expect(gaveBack).toBe(1)
  })

  it('not while another sink may still take it, and by a later request, which takes its place', async () => {
    const [page] = await landed('a')
    page!.release()
    expect(gaveBack).toBe(0)
    const later = await ask('b')
    later.release()
    expect(gaveBack).toBe(0)
    void ask('c', { requestedSince: 1_000_001 })
    await turn()
    expect(gaveBack).toBe(1)
  })

  it('where its place is taken while it is read: by its reader', async () => {
    const [page] = await landed('a')
    void ask('b', { requestedSince: 1_000_001 })
    await turn()
    expect(gaveBack).toBe(0)
    page!.release()
    expect(gaveBack).toBe(1)
  })
})

it('with one sink nothing is kept', async () => {
  const plain = { fetchPage, reserve }
  expect(sharePages(plain, { sinks: 1, keptBytes: 1e6, clock })).toBe(plain)
})
