import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cancelled, Failure } from '../../src/domain/failure.ts'
import { at, stream } from '../domain/builders.ts'
import { keepStore } from './model/store-keeper.ts'
import { createStage, eventAt, events, firstEvents, idsOf, listingOf, staged, whole } from './stage.ts'

describe('a pump', () => {
  it('delivers each page before it commits it, and fetches one page ahead once the sink has accepted one', async () => {
    const stage = await staged()
    expect(await stage.pump()).toBeUndefined()
    expect(stage.log.filter((line) => !line.startsWith('fetch'))).toEqual([
      'open',
      'deliver e0 e1',
      'commit 1',
      'deliver e2 e3',
      'commit 2',
      'deliver e4 e5',
      'commit 3',
      'close',
    ])
    expect(stage.log.indexOf('fetch 2')).toBeGreaterThan(stage.log.indexOf('commit 1'))
    expect(stage.log.indexOf('fetch 4')).toBeGreaterThan(stage.log.indexOf('commit 1'))
    expect(stage.log.indexOf('fetch 4')).toBeLessThan(stage.log.indexOf('commit 2'))
    expect(await stage.read()).toMatchObject({
      counters: { pages: 3, events: 6, delivered: 6 },
      lastFull: { pages: 3 },
    })
    expect(stage.held()).toBe(0)
  })

  it('holds only one page while a sink hangs, and fetches one ahead if nothing is delivered', async () => {
    const stage = await staged()
    const stop = new AbortController()
    stage.script.deliver = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(cancelled()), { once: true })
        void setImmediate().then(() => stop.abort())
      })
    await expect(stage.pump({}, stop.signal)).rejects.toMatchObject({ kind: 'cancelled' })
    expect(stage.requests()).toBe(1)
    stage.script.deliver = async () => whole
    await stage.pump()
    await stage.clock.advance(3_600_000)
    const before = stage.log.length
    await stage.pump()
    const again = stage.log.slice(before)
    expect(again.indexOf('fetch 2')).toBeLessThan(again.findIndex((line) => line.startsWith('commit')))
  })

  it.each([{ pages: 1 }, {}])(
    'delivers nothing twice, from the store, from the page itself or from a page before: $pages',
    async (load) => {
      const stage = await staged()
      stage.script.load = load
      const repeated = [events[0]!, events[0]!, events[5]!, eventAt(9), eventAt(9)]
      stage.script.answer = listingOf([...events, ...repeated], 3)
      await stage.pump()
      expect(await stage.read()).toMatchObject({ counters: { events: 11, delivered: 7, duplicates: 4 } })
      await stage.clock.advance(200_000)
      await stage.pump()
      expect(stage.ids()).toEqual([...idsOf(0, 6), 'e9'])
    },
  )

  it('releases every page that it fetched, whatever fails', async () => {
    const step = fc.constantFrom('page', 'fails', 'expires', 'bug')
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 6, maxLength: 12 }),
        fc.array(fc.boolean()),
        async (steps, takes) => {
          const stage = await createStage()
          let deliveries = 0
          stage.script.answer = (_, number) => {
            const what = steps[number - 1]
            if (what === 'fails') return new Failure('retry', 'network', 'x')
            if (what === 'expires') return new Failure('retry', 'cursor_expired', 'x')
            return what === 'bug' ? new TypeError('x') : { events: [eventAt(number)], next: `${number}` }
          }
          stage.script.deliver = async () => {
            if (takes[deliveries++] === false) throw new Failure('stop', 'disk_full', 'x')
            return whole
          }
          for (let pumps = 0; pumps < 3; pumps++) await stage.pump().catch(() => undefined)
          expect(stage.held()).toBe(0)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('discards the page ahead when a delivery fails, without waiting for its answer, and fetches it again', async () => {
    const stage = await staged()
    stage.script.answer = listingOf(events, 2, (_, number) => {
      // The third request gets no answer.
      stage.clock.autoAdvance(number !== 2)
      return undefined
    })
    let deliveries = 0
    stage.script.deliver = async () => {
      if (++deliveries === 2) throw new Failure('retry', 'network', 'no route')
      return whole
    }
    expect(await stage.pump()).toMatchObject({ code: 'network' })
    stage.clock.autoAdvance(true)
    expect(await stage.read()).toMatchObject({
      commit: 2,
      trouble: { code: 'network', count: 1 },
      full: { cursor: '2' },
    })
    await stage.clock.advance(60_000)
    await stage.pump()
    expect(stage.ids()).toEqual(idsOf(0, 6))
    expect(stage.internalEvents.filter(({ name }) => name === 'StreamRecovered')).toHaveLength(1)
  })

  it('ends its slice after at least one page, and continues where it stopped', async () => {
    const stage = await staged()
    stage.script.latencyMs = 20_000
    await stage.pump()
    expect(await stage.read()).toMatchObject({ full: { cursor: '2', pages: 1 } })
    stage.script.latencyMs = 1
    await stage.pump({ mayGoOn: () => false })
    expect(await stage.read()).toMatchObject({ full: { cursor: '4', pages: 2 } })
    await stage.pump()
    expect(await stage.read()).toMatchObject({ lastFull: { pages: 3 } })
    expect(stage.delivered).toHaveLength(6)
  })

  it('dates the beginning of a scan by the request of its first page, with the clock of the API', async () => {
    const stage = await staged()
    const listing = listingOf(events, 2)
    stage.script.answer = (request, number) => ({
      ...(listing(request, number) as object),
      events,
      clockOffsetMs: 60_000,
    })
    await stage.pump()
    expect((await stage.read())?.caughtUpAtMs).toBe(at(2) + 60_000)
  })
})

describe('a pump keeps nothing of a checkpoint in memory', () => {
  it('reads what another process has committed meanwhile: cursor, committed lengths and seen', async () => {
    const stage = await staged()
    await stage.pump({ mayGoOn: () => false })
    // Another process goes on with the stream.
    const other = { id: 'other', schedule: true }
    const committed = [{ writer: 'other', part: 'p', bytes: 20, lines: 2 }]
    stage.script.deliver = async () => ({ refusals: [], committed, bytes: 20 })
    await stage.pump({ mayGoOn: () => false }, undefined, { holder: other })
    await stage.pump()
    expect(stage.opened.at(-1)!.committed).toEqual(committed)
    expect(stage.ids()).toEqual(idsOf(0, 6))
  })

  it.each([
    { what: 'was written, and not answered', isWritten: true, isAnswered: false },
    { what: 'was neither written nor answered', isWritten: false, isAnswered: false },
    { what: 'was answered, and lost', isWritten: false, isAnswered: true },
  ])('reads the store again after a commit that $what', async ({ isWritten, isAnswered }) => {
    const stage = await staged()
    const { commit } = stage.script
    stage.script.commit = async (given) => {
      if (isWritten) await commit(given)
      if (!isAnswered) throw new Failure('retry', 'store_unavailable', 'no answer')
      return 'done'
    }
    const ended = await stage.pump({ mayGoOn: () => false }).catch((error: unknown) => error)
    expect(ended).toEqual(isAnswered ? undefined : expect.objectContaining({ code: 'store_unavailable' }))
    stage.script.commit = commit
    await stage.pump()
    expect(stage.ids()).toEqual(['e0', 'e1', ...idsOf(isWritten ? 2 : 0, 6)])
    expect(await stage.read()).toMatchObject({ counters: { delivered: 6 } })
  })

  it.each([{ pages: 1 }, { pages: 2 }])(
    'ends before it delivers where the store has lost commits since, between pages of loads of $pages',
    async ({ pages }) => {
      const stage = await createStage()
      const keeper = await keepStore(stage.clock)
      const pump = () => stage.pump({ sink: stage.plainSink }, undefined, { store: keeper.store })
      keeper.copy()
      stage.script.answer = listingOf(firstEvents(2), 2)
      await pump()
      await stage.clock.advance(3_600_000)
      const found = [eventAt(600), eventAt(601), ...firstEvents(2)]
      stage.script.load = { pages }
      // A failover, to a server that lacks the latest commits.
      stage.script.answer = listingOf(found, 2, ({ cursor }) => void (cursor === '2' && keeper.setBack()))
      await expect(pump()).rejects.toMatchObject({ code: 'fence_lost' })
      expect(stage.ids()).toEqual(['e0', 'e1', ...(pages === 1 ? ['e600', 'e601'] : [])])
      await keeper.store.close()
    },
  )

  it('ends at a refused commit, and no longer uses the sink', async () => {
    const stage = await staged()
    const { commit } = stage.script
    // Another process takes the stream over while this one delivers its second page.
    stage.script.commit = async (given) => {
      if (given.next.commit === 2) await stage.store.ledger.take(stream, { id: 'other', schedule: true })
      return commit(given)
    }
    await expect(stage.pump()).rejects.toMatchObject({ code: 'fence_lost' })
    expect(stage.delivered).toHaveLength(4)
    expect(stage.log.at(-1)).toBe('close')
    expect(await stage.read()).toMatchObject({ commit: 1, counters: { delivered: 2 } })
  })

  it.each([
    ['is stopped within a delivery', cancelled()],
    ['meets a bug', new TypeError('a bug')],
  ])('commits nothing when it %s, and releases the stream', async (_, error) => {
    const stage = await staged()
    const stop = new AbortController()
    stage.script.deliver = async (_some, signal) => {
      if (!(error instanceof TypeError)) stop.abort()
      expect(signal.aborted).toBe(stop.signal.aborted)
      throw error
    }
    await expect(stage.pump({}, stop.signal)).rejects.toBe(error)
    expect(await stage.read()).toBeUndefined()
    await stage.store.ledger.take(stream, { id: 'a stranger', schedule: false })
  })

  const timesAt = (offsetMs: number, prefix = 0) =>
    Array.from({ length: 20 }, (_, number) => eventAt(prefix + number, at(1) + number * 2_000 + offsetMs))
  it.each([
    ['are cut to whole seconds', timesAt(789), timesAt(0), true],
    ['are rounded to whole seconds', timesAt(789), timesAt(1_000), true],
    ['get milliseconds', timesAt(0), timesAt(123), true],
    ['are of other events of the same seconds', timesAt(0), timesAt(0, 100), false],
    ['are of other events of the same minutes', timesAt(789), timesAt(456, 100), false],
    ['stay as they are', timesAt(789), timesAt(789), false],
  ])(
    'tells whether times of delivered events have changed, where they %s',
    async (_, before, after, isTold) => {
      const stage = await createStage()
      for (const events of [before, after]) {
        stage.script.answer = listingOf(events, 10)
        await stage.clock.advance(3_600_000)
        await stage.pump()
      }
      const told = stage.internalEvents.find(({ name }) => name === 'TimesChangedPrecision')
      expect(told).toEqual(
        isTold
          ? { name: 'TimesChangedPrecision', stream, id: after[0]!.id, time: after[0]!.time }
          : undefined,
      )
    },
  )
})
