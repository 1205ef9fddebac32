import { expect, it } from 'vitest'
import { Failure } from '../../../src/domain/failure.ts'
import { shipArchived } from '../../../src/tasks/backfill/ship-archived.ts'
import type { ArchivedPiece } from '../../../src/days/archived-events.ts'
import { createHousekeeping } from '../../../src/upkeep/housekeep.ts'
import type { Ledger } from '../../../src/ports/store.ts'
import { at, hourMs, policy, stream } from '../../domain/builders.ts'
import { createStage, eventAt, listingOf, whole, zone, type Stage } from '../../pump/stage.ts'

const never = () => new AbortController().signal
const day = 24
/** A page of its own. */
function piece(...numbers: number[]): ArchivedPiece {
  return { part: 'p', from: 1, bytes: 4_194_304, lines: numbers.map((number) => eventAt(number)) }
}

/** A stage on which no poll reads the day any more. */
async function longAgo(): Promise<Stage> {
  const stage = await createStage()
  await stage.clock.advance(at(9 * day) - stage.clock.now())
  stage.apiClock.learn('default', 0, {})
  return stage
}

async function ship(stage: Stage, lines: readonly number[], ledger: Partial<Ledger> = {}) {
  async function* read(): AsyncGenerator<ArchivedPiece> {
    for (const line of lines) yield piece(line)
  }
  const store = { ...stage.deps.store, ledger: { ...stage.deps.store.ledger, ...ledger } }
  const job = { request: crypto.randomUUID(), stream, zone, sink: stage.sink, read }
  // A command: another process has the schedule.
  const holder = { id: 'command', schedule: false }
  return shipArchived(job, { ...stage.deps, store, holder }, never())
}

const other = { id: 'other', schedule: true }
const down = new Failure('retry', 'network', 'no route', { retryAt: 0 })
/** As where the process is killed. */
const killed = new Error('killed')

/** Ships two pages, and ends as where the process was killed before the third. */
async function shipHalf(stage: Stage): Promise<void> {
  let deliveries = 0
  stage.script.deliver = async () => {
    if (++deliveries === 3) throw killed
    return whole
  }
  await expect(ship(stage, [1, 2, 3, 4])).rejects.toBe(killed)
  stage.script.deliver = async () => whole
  expect(stage.ids()).toEqual(['e1', 'e2'])
}

function keepHouse(stage: Stage, keepDays: number) {
  const settings = () => ({ zones: [zone], sinks: [stream.sink], policy })
  return createHousekeeping({ ...stage.deps, settings, keepDays })(never())
}

it('holds the stream from the first line to the last, its waits included, and says meanwhile that it is not whole', async () => {
  const stage = await longAgo()
  let deliveries = 0
  stage.script.deliver = async () => {
    await expect(stage.store.ledger.take(stream, other)).rejects.toMatchObject({ code: 'held' })
    expect(await stage.read()).toMatchObject({ archiveSinceMs: at(9 * day), ended: { as: 'complete' } })
    if (++deliveries === 2) throw down
    return whole
  }
  const sleep = stage.clock.sleep
  let waits = 0
  const clock = {
    ...stage.clock,
    async sleep(...args: Parameters<typeof sleep>) {
      if (args[0] >= 500) {
        waits++
        await expect(stage.store.ledger.take(stream, other)).rejects.toMatchObject({ code: 'held' })
      }
      return sleep(...args)
    },
  }
  const shipped = await ship({ ...stage, deps: { ...stage.deps, clock } }, [1, 2, 1, 3])
  expect(waits).toBeGreaterThan(0)
  expect(shipped).toMatchObject({ shipped: 3, present: 1 })
  expect(stage.ids()).toEqual(['e1', 'e2', 'e3'])
  const after = (await stage.read())!
  expect([after.archiveSinceMs, after.ended?.as]).toEqual([undefined, 'complete'])
  await stage.store.ledger.take(stream, other)
})

it('after a kill the index stays, so that another try ships the rest and nothing twice', async () => {
  const stage = await longAgo()
  await shipHalf(stage)
  const note = (await stage.read())!.archiveSinceMs
  expect(note).toBe(at(9 * day))
  await stage.clock.advance(13 * day * 3_600_000)
  await keepHouse(stage, 14)
  expect(await stage.store.ledger.dropped(stream)).toBeUndefined()
  expect(await ship(stage, [1, 2, 3, 4])).toMatchObject({ shipped: 2, present: 2 })
  expect(stage.ids()).toEqual(['e1', 'e2', 'e3', 'e4'])
  expect((await stage.read())!.archiveSinceMs).toBeUndefined()
})

it('what nobody has shipped to the end for keepDays is told as shipped in part, and is not begun again', async () => {
  const stage = await longAgo()
  await shipHalf(stage)
  await stage.clock.advance(10 * day * 3_600_000)
  // However often somebody tries it.
  stage.script.deliver = () => Promise.reject(killed)
  await expect(ship(stage, [1, 2, 3, 4])).rejects.toBe(killed)
  stage.script.deliver = async () => whole
  await stage.clock.advance(5 * day * 3_600_000)
  await keepHouse(stage, 14)
  expect(await stage.store.ledger.dropped(stream)).toBe('index')
  const { leftOut } = await ship(stage, [1, 2, 3, 4])
  expect(leftOut).toMatch(/^the day was shipped in part from an archive/)
  expect(stage.ids()).toEqual(['e1', 'e2'])
  // Of files that hold no more than that, all was shipped.
  expect(await ship(stage, [1, 2])).toMatchObject({ shipped: 0, present: 2 })
  expect((await stage.read())!.archiveSinceMs).toBeUndefined()
})

it('begins again at the first line where another process has taken the stream over', async () => {
  const stage = await longAgo()
  let deliveries = 0
  stage.script.deliver = async () => {
    if (++deliveries === 2) {
      // This process was suspended for longer than its heartbeats keep a stream.
      await stage.clock.advance(20_000)
      const { fence } = await stage.store.ledger.take(stream, other)
      await stage.store.ledger.release(stream, fence)
    }
    return whole
  }
  expect(await ship(stage, [1, 2, 3])).toMatchObject({ shipped: 3, present: 0 })
  // What was delivered under the lost fence is cut by a real sink.
  expect(stage.ids()).toEqual(['e1', 'e2', 'e2', 'e3'])
})

it('leaves out a day that polls still read, which would wait for it', async () => {
  const stage = await createStage()
  stage.apiClock.learn('default', 0, {})
  const leftOut = 'it is still read from the API, which ships what is missing'
  expect(await ship(stage, [1])).toMatchObject({ shipped: 0, leftOut })
  expect(await stage.read()).toBeUndefined()
  await stage.pump()
  await stage.clock.advance(at(72) - stage.clock.now())
  expect(await ship(stage, [1])).toMatchObject({ shipped: 0, leftOut })
  await stage.complete()
  expect(await ship(stage, [1])).toMatchObject({ shipped: 1 })
})

it('changes nothing of what polls know: lag, what the API has listed, and its troubles', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf([eventAt(1), eventAt(2)], 2)
  await stage.pump()
  stage.script.answer = () => {
    throw new Failure('refuse', 'zone_gone', 'no such zone')
  }
  await stage.clock.advance(hourMs)
  await stage.pump()
  const { commit: _, lastCommitAtMs: __, counters, ...before } = (await stage.read())!
  expect(before).toMatchObject({ listed: 2, trouble: { code: 'zone_gone' } })
  await stage.clock.advance(at(9 * day) - stage.clock.now())
  expect(await ship(stage, [2, 3])).toMatchObject({ shipped: 1, present: 1 })
  expect(await stage.read()).toMatchObject({ ...before, counters: { ...counters, delivered: 3 } })
})

it('ends with the failure of a sink that does not take its events, and leaves the day as it is', async () => {
  const stage = await longAgo()
  stage.script.deliver = async () => {
    throw new Failure('stop', 'sink_refuses', 'status 403')
  }
  await expect(ship(stage, [1])).rejects.toMatchObject({ code: 'sink_refuses' })
  expect(await stage.read()).toMatchObject({ archiveSinceMs: at(9 * day) })
})
