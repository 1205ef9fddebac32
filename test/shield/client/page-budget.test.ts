import * as fc from 'fast-check'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  PageBudget,
  createPageSizes,
  memoryOf,
  type Reservation,
} from '../../../src/shield/client/page-budget.ts'

const never = new AbortController().signal

async function settledOf(promise: Promise<unknown>): Promise<boolean> {
  const waiting = turn().then(() => false)
  return Promise.race([promise.then(() => true), waiting])
}

describe('the budget of pages', () => {
  it('admits what fits, and the others as soon as they fit', async () => {
    const budget = new PageBudget(100)
    const first = await budget.reserve(() => 60, never)
    const second = budget.reserve(() => 60, never)
    expect(await settledOf(second)).toBe(false)
    first.resize(40)
    expect(await settledOf(second)).toBe(true)
    first.release()
    first.release()
    ;(await second).release()
    expect(budget.heldBytes).toBe(0)
  })

  it('counts a page that is larger than its estimate, and one without a size', async () => {
    const budget = new PageBudget(100)
    const page = await budget.reserve(() => 10, never)
    page.resize(0)
    const large = budget.reserve(() => 1000, never)
    expect(await settledOf(large)).toBe(false)
    page.resize(500)
    expect(budget.heldBytes).toBe(500)
    page.release()
    page.resize(9)
    ;(await large).release()
    expect(budget.heldBytes).toBe(0)
  })

  it('asks waiting pages for their estimate again, which may have become smaller', async () => {
    const budget = new PageBudget(100)
    let bytes = 1000
    const first = await budget.reserve(() => bytes, never)
    const others = [budget.reserve(() => bytes, never), budget.reserve(() => bytes, never)]
    bytes = 30
    first.resize(30)
    expect(await settledOf(Promise.all(others))).toBe(true)
    expect(budget.heldBytes).toBe(90)
  })

  it('gives a further page of a load room only where there is some at once, and nobody of its sink waits', async () => {
    const budget = new PageBudget(100)
    const first = budget.reserveIfRoom(1_000, 'a')!
    first.resize(60)
    expect(budget.reserveIfRoom(60, 'a')).toBeUndefined()
    const second = budget.reserveIfRoom(30, 'a')!
    const waiting = budget.reserve(() => 40, never, 'a')
    expect(await settledOf(waiting)).toBe(false)
    expect(budget.reserveIfRoom(1, 'a')).toBeUndefined()
    first.release()
    second.release()
    ;(await waiting).release()
    expect(budget.heldBytes).toBe(0)
  })

  it('ends waiting at once on a stop, and admits those behind', async () => {
    const budget = new PageBudget(100)
    const held = await budget.reserve(() => 50, never)
    const stop = new AbortController()
    const large = budget.reserve(() => 80, stop.signal)
    const small = budget.reserve(() => 50, never)
    // Nothing overtakes a large page.
    expect(await settledOf(small)).toBe(false)
    stop.abort()
    await expect(large).rejects.toMatchObject({ kind: 'cancelled' })
    ;(await small).release()
    held.release()
    await expect(budget.reserve(() => 1, AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' })
    expect(budget.heldBytes).toBe(0)
  })

  it('keeps a quarter for the other sinks if one hangs', async () => {
    const budget = new PageBudget(100)
    ;(await budget.reserve(() => 20, never, 'healthy')).release()
    const hung = Array.from({ length: 6 }, () => budget.reserve(() => 20, never, 'hung'))
    await turn()
    expect(budget.heldBytes).toBe(60)
    const one = await budget.reserve(() => 20, never, 'healthy')
    const other = await budget.reserve(() => 20, never, 'healthy')
    expect(budget.heldBytes).toBe(100)
    one.release()
    other.release()
    expect(await settledOf(hung[3]!)).toBe(false)
    ;(await hung[0]!).release()
    expect(await settledOf(hung[3]!)).toBe(true)
  })

  it.each([
    { what: 'asks only where there is room', take: (budget: PageBudget) => budget.reserveIfRoom(5, 'b') },
    {
      what: 'only joins',
      take: (budget: PageBudget) => {
        const page = budget.reserveIfRoom(5, 'a')!
        const joined = page.join('b')
        page.release()
        return joined
      },
    },
  ])('keeps it for a sink too that $what', ({ take }) => {
    const budget = new PageBudget(100)
    take(budget)!.release()
    budget.reserveIfRoom(75, 'a')
    expect(budget.reserveIfRoom(10, 'a')).toBeUndefined()
  })

  it('admits a page for each sink that holds none, whatever the others hold', async () => {
    const budget = new PageBudget(100)
    const first = await budget.reserve(() => 1000, never, 'hung')
    const second = await budget.reserve(() => 1000, never, 'healthy')
    const none = await budget.reserve(() => 1000, never)
    const more = budget.reserve(() => 1, never, 'healthy')
    expect(await settledOf(more)).toBe(false)
    second.release()
    ;(await more).release()
    first.release()
    none.release()
    expect(budget.heldBytes).toBe(0)
  })

  it('serves all callers in turn, with any sizes, stops and estimates', async () => {
    const sink = fc.constantFrom(undefined, 'a', 'b', 'c')
    const bytes = fc.nat({ max: 300 })
    const asks = fc.array(fc.record({ estimate: bytes, size: bytes, stops: fc.boolean(), sink }), {
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(asks, async (wanted) => {
        const budget = new PageBudget(100)
        const held: Reservation[] = []
        const done = wanted.map(async ({ estimate, size, stops, sink }) => {
          const stop = new AbortController()
          const reserving = budget.reserve(() => estimate, stop.signal, sink)
          if (stops) stop.abort()
          const reservation = await reserving.catch(() => undefined)
          reservation?.resize(size)
          if (reservation !== undefined) held.push(reservation)
        })
        for (let step = 0; step < wanted.length * 2 + 2; step++) {
          await turn()
          held.shift()?.release()
        }
        await Promise.all(done)
        for (const reservation of held) reservation.release()
        expect(budget.heldBytes).toBe(0)
      }),
      { numRuns: 100 },
    )
  })
})

describe('the estimate of a page', () => {
  it('is the largest page until one was seen, then a quarter more than the largest of the last', () => {
    const estimate = createPageSizes(1_000_000)
    expect(estimate.next()).toBe(4_000_000)
    estimate.saw(100_000)
    estimate.saw(80_000)
    expect(estimate.next()).toBe(500_000)
    expect(memoryOf(80_000)).toBe(320_000)
    for (let page = 0; page < 16; page++) estimate.saw(100)
    expect(estimate.next()).toBe(81_920)
    estimate.saw(999_999)
    expect(estimate.next()).toBe(4_000_000)
  })
})
