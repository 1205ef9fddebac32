import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { Failure } from '../../src/domain/failure.ts'
import type { DeadLetter } from '../../src/domain/event/delivery.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { replayDeadLetters } from '../../src/tasks/dead-letters/replay.ts'
import { createObjectSink } from '../../src/sinks/objects/sink.ts'
import { stream } from '../domain/builders.ts'
import { contractFormat, idOf } from '../contract/sink.contract.ts'
import { createMemoryStore } from '../sinks/objects/memory-store.ts'
import { createStage, eventAt, firstEvents, idsOf, listingOf, replayOver } from './stage.ts'

const hourMs = 3_600_000
const unavailable = new Failure('retry', 'store_unavailable', 'no answer')

/** A stage whose pumps ship to objects. `list` sets what the day lists; `refuses` an id that the format cannot write. */
async function createLake(size = 2, maxBytes = 65_536) {
  const stage = await createStage()
  const { store, script: _, ...memory } = createMemoryStore()
  const script = { refuses: '' }
  const format = {
    ...contractFormat,
    encode: (event: Event) =>
      contractFormat.encode({ ...event, ...(event.id === script.refuses && { action: 'unmappable' }) }),
  }
  const settings = {
    prefix: '',
    file: 'ndjson',
    compress: 'gzip',
    maxBytes,
    guarantee: 'exactly-once',
  } as const
  const telemetry = { emit: () => undefined }
  const sinkNamed = (name: string) =>
    createObjectSink({ settings: { name, ...settings }, format, telemetry, store }, async () => undefined)
  const sink = sinkNamed(stream.sink)
  return {
    ...stage,
    ...memory,
    lakeScript: script,
    sink,
    sinkNamed,
    list: (count: number) => (stage.script.answer = listingOf(firstEvents(count), size)),
    async ship() {
      await stage.clock.advance(hourMs)
      return await stage.pump({ sink })
    },
    /** The next commit is lost, as where the process dies before it. */
    async shipWithoutCommit() {
      const { commit } = stage.script
      stage.script.commit = async (given) => {
        if (given.next.objects?.last === (await stage.read())?.objects?.last) return await commit(given)
        throw unavailable
      }
      await stage.clock.advance(hourMs)
      await expect(stage.pump({ sink })).rejects.toBe(unavailable)
      stage.script.commit = commit
    },
    counted: async () =>
      (await stage.store.ledger.minutes(stream)).reduce((sum, { count }) => sum + count, 0),
  }
}

type Lake = Awaited<ReturnType<typeof createLake>>

async function expectOnce(lake: Lake, count: number): Promise<void> {
  expect((await lake.lines()).map(idOf).toSorted()).toEqual(idsOf(0, count).toSorted())
  expect(await lake.counted()).toBe(count)
  expect((await lake.read())!.counters.delivered).toBe(count)
  const sizes = lake.keys().map((key) => lake.objects.get(key)!.body.length)
  expect(await lake.store.ledger.objectSizes(stream)).toEqual(sizes)
  const bytes = sizes.reduce((sum, each) => sum + each, 0)
  expect((await lake.read())!.objects).toEqual({ last: sizes.length, bytes })
}

describe('a pump to numbered objects', () => {
  it('writes an object a load, and none where nothing is new', async () => {
    const lake = await createLake()
    lake.list(3)
    await lake.ship()
    await lake.ship()
    expect(lake.requests.filter((each) => each.startsWith('put'))).toHaveLength(3)
    lake.list(5)
    await lake.ship()
    expect(lake.keys().map((key) => key.slice(-17))).toEqual(['-000001.ndjson.gz', '-000002.ndjson.gz'])
    await expectOnce(lake, 5)
  })

  it('writes as many objects as a load needs, also for the last page of a scan', async () => {
    const lake = await createLake(4, 100)
    lake.list(10)
    expect(await lake.ship()).toBeUndefined()
    expect(lake.keys().length).toBeGreaterThan(4)
    await expectOnce(lake, 10)
    expect((await lake.read())!.lastFull).toMatchObject({ pages: 3 })
  })

  it('adopts what an earlier pump wrote and did not commit, and goes on with what that does not hold', async () => {
    const lake = await createLake()
    lake.list(3)
    await lake.shipWithoutCommit()
    lake.list(7)
    await lake.ship()
    await expectOnce(lake, 7)
    expect((await lake.read())!.lastFull).toMatchObject({ pages: 4 })
  })

  it('adopts events that its load does not have: a later page that lists them ships them no more', async () => {
    const lake = await createLake(3)
    lake.list(6)
    await lake.shipWithoutCommit()
    // Now each page is a load, and the first load has two events of the object.
    lake.script.answer = listingOf([...firstEvents(2), eventAt(100), ...firstEvents(6).slice(2)], 3)
    await lake.clock.advance(hourMs)
    await lake.pump({ sink: { ...lake.sink, load: { pages: 1 } } })
    expect((await lake.lines()).map(idOf)).toEqual([...idsOf(0, 6), 'e100'])
    expect(await lake.counted()).toBe(7)
    const { listed, lastFull, shrunken } = (await lake.read())!
    expect([listed, lastFull?.pages, shrunken]).toEqual([7, 3, undefined])
  })

  it('knows what it has adopted: a scan that does not list it proves nothing', async () => {
    const lake = await createLake(3)
    lake.list(6)
    await lake.shipWithoutCommit()
    lake.script.answer = listingOf([...firstEvents(5), eventAt(100)], 3)
    await lake.ship()
    const hidden = (await lake.read())!
    expect([hidden.lastFull, hidden.shrunken]).toMatchObject([undefined, { scans: 1, missing: 1 }])
    lake.script.answer = listingOf([...firstEvents(6), eventAt(100)], 3)
    await lake.ship()
    const { listed, lastFull, shrunken } = (await lake.read())!
    expect([listed, lastFull?.pages, shrunken, await lake.counted()]).toEqual([7, 3, undefined, 7])
  })

  it('adopts one object after another, where the store was begun anew', async () => {
    const lake = await createLake()
    for (const count of [2, 4, 6]) {
      lake.list(count)
      await lake.ship()
    }
    const anew = (before: Checkpoint): Checkpoint => ({
      ...before,
      objects: { last: 0, bytes: 0 },
      counters: { ...before.counters, delivered: 0 },
    })
    await lake.change(anew, { unsee: 'all' })
    lake.list(7)
    for (let pump = 0; pump < 3; pump++) await lake.ship()
    expect(lake.keys()).toHaveLength(4)
    await expectOnce(lake, 7)
  })

  it('adopts what was written before its sink was renamed, and no object of another sink', async () => {
    const lake = await createLake()
    lake.list(3)
    await lake.shipWithoutCommit()
    const renamed = { ...stream, sink: 'renamed' }
    await lake.store.upkeep.renameSink(stream.sink, renamed.sink)
    const shipTo = async (of: typeof stream) => {
      await lake.clock.advance(hourMs)
      return await lake.pump({ sink: lake.sinkNamed(of.sink), stream: of })
    }
    lake.list(5)
    expect(await shipTo(renamed)).toBeUndefined()
    expect((await lake.lines()).map(idOf)).toEqual(idsOf(0, 5))
    expect(await shipTo({ ...stream, sink: 'other' })).toMatchObject({ code: 'sink_refuses' })
  })

  it('writes nothing once the store has lost a commit that the pump builds on', async () => {
    const lake = await createLake()
    lake.list(2)
    await lake.ship()
    lake.list(4)
    const { holds } = lake.store.ledger
    const ledger = {
      ...lake.store.ledger,
      holds: (...[of, fence, commit]: Parameters<typeof holds>) => holds(of, fence, commit + 1),
    }
    await lake.clock.advance(hourMs)
    const pumped = lake.pump({ sink: lake.sink }, undefined, { store: { ...lake.store, ledger } })
    await expect(pumped).rejects.toMatchObject({ code: 'fence_lost' })
    expect(lake.keys()).toHaveLength(1)
  })

  it('ships at once what an adopted object does not hold, where the rest of the scan cannot be read', async () => {
    const lake = await createLake(2)
    lake.list(2)
    await lake.shipWithoutCommit()
    lake.script.answer = listingOf(firstEvents(6), 3, ({ cursor }) =>
      cursor === null ? undefined : new Failure('retry', 'cursor_expired', 'gone'),
    )
    await lake.ship().catch(() => undefined)
    expect((await lake.lines()).map(idOf)).toEqual(idsOf(0, 3))
  })
})

function replayed({ sink, deps }: Lake, chosen: readonly DeadLetter[]) {
  return replayDeadLetters(chosen, replayOver(deps, sink), new AbortController().signal)
}

describe('dead letters of a sink of objects', () => {
  it('that a replay wrote and did not commit are settled by whoever adopts the object', async () => {
    const lake = await createLake()
    lake.list(3)
    lake.lakeScript.refuses = 'e1'
    await lake.ship()
    lake.lakeScript.refuses = ''
    const chosen = await lake.store.deadLetters.list()
    const replay = () => replayed(lake, chosen)
    const { commit } = lake.script
    lake.script.commit = async (given) => {
      if ((given.removedDeadLetters?.length ?? 0) === 0) return await commit(given)
      throw unavailable
    }
    await expect(replay()).rejects.toBe(unavailable)
    lake.script.commit = commit
    lake.list(5)
    await lake.ship()
    expect(await lake.store.deadLetters.list()).toEqual([])
    await replay()
    await expectOnce(lake, 5)
    expect((await lake.read())!.counters.deadLetters).toBe(0)
  })

  it('are all replayed, also where the next number is taken', async () => {
    const lake = await createLake()
    lake.list(3)
    lake.lakeScript.refuses = 'e1'
    await lake.ship()
    lake.lakeScript.refuses = ''
    lake.list(5)
    await lake.shipWithoutCommit()
    const chosen = await lake.store.deadLetters.list()
    expect(await replayed(lake, chosen)).toMatchObject([{ delivered: 1 }])
    await lake.ship()
    await expectOnce(lake, 5)
  })
})
