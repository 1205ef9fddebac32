import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { dayOf, type Day } from '../../src/domain/day.ts'
import { Failure } from '../../src/domain/failure.ts'
import { newCheckpoint } from '../../src/domain/checkpoint.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { SinkReconciler } from '../../src/upkeep/reconcile-sinks.ts'
import { buildEvent, idOf, readParts, StreamLedger } from '../sinks/file/samples.ts'
import { createWorkbench } from '../sinks/file/workbench.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { commitOnce, nothingOld } from '../contract/checkpoint-store/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { noTracer } from '../fakes/no-tracer.ts'
import { temporaryFolder } from '../setup/temp.ts'

const zones = [7, 5].map((id) => ({ id, name: String(id), account: 'default' }))
const never = new AbortController().signal

async function setUp(day: Day) {
  const bench = await createWorkbench()
  const clock = createFakeClock(Date.now(), true)
  const opened = await openMemoryStore({ clock, deadLetterMaxBytes: 1e6 })
  const store = { ...opened, catalogue: { ...opened.catalogue } }
  const stream = { zone: 7, day, sink: 'archive' }

  /** Ships two events; of the second the commit never comes, as after `kill -9`. */
  async function shipAndDie(isEnded: boolean): Promise<void> {
    const sink = bench.sink()
    const { fence } = await store.ledger.take(stream, { id: 'dead', schedule: true })
    const open = await new StreamLedger(stream, store.id).open(sink)
    const { committed } = await open.deliver([buildEvent('kept')], never)
    const ended = { as: 'complete', atMs: clock.now() } as const
    const next = {
      ...newCheckpoint(stream, clock.now(), unknownOrdering),
      commit: 1,
      committed,
      ...(isEnded && { ended }),
    }
    await store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
    await open.deliver([buildEvent('left behind')], never)
    await sink.close()
    await store.ledger.release(stream, fence)
  }

  onTestFinished(async () => {
    await bench.dispose()
    await store.close()
  })
  const reconciler = new SinkReconciler({
    source: { fetchPage: () => Promise.reject(new Error('nothing is to be read')) },
    store,
    clock,
    apiClock: createApiClock(clock),
    telemetry: { emit: (internalEvent) => void bench.happened.push(internalEvent) },
    tracer: noTracer,
    policy: { readableDays: 3 } as never,
    holder: { id: 'next', schedule: true },
    random: Math.random,
    zones: () => zones,
    sinks: new Map([['archive', bench.sink()]]),
  })
  async function ids(): Promise<string[]> {
    const lines = await Array.fromAsync(readParts(bench.path, 7, day))
    return lines.map(idOf)
  }
  return { clock, store, stream, path: bench.path, told: bench.happened, shipAndDie, reconciler, ids }
}

const today = dayOf(Date.now())

it.each([
  ['a complete day that can be read', today, true],
  ['a complete day that can no longer be read', '2026-01-05' as Day, true],
  ['a stream that others have finished', today, false],
])('of %s, lines of a killed process are cut, and a copy is kept', async (_, day, isEnded) => {
  const { store, stream, path, shipAndDie, reconciler, ids } = await setUp(day)
  await shipAndDie(isEnded)
  await reconciler.turn(never)
  expect(await ids()).toEqual(['kept'])
  const aside = join(path, '.shieldlog', 'aside')
  expect(readdirSync(aside).map((name) => readFileSync(join(aside, name), 'utf8'))).toEqual([
    expect.stringContaining('left behind'),
  ])
  // The last scan of a complete day has shipped all that the API lists.
  expect(await store.catalogue.gaps()).toEqual([])
  expect((await store.ledger.read(stream))?.commit).toBe(1)
})

it('no line is cut of a day that was pruned', async () => {
  const { store, stream, shipAndDie, reconciler, ids } = await setUp(today)
  await shipAndDie(true)
  await store.upkeep.prune([stream], nothingOld)
  await reconciler.turn(never)
  expect(await ids()).toEqual(['kept', 'left behind'])
})

describe('lines that a killed process leaves behind after the first turn', () => {
  async function setUpLeft() {
    const world = await setUp(today)
    const { reconciler, shipAndDie, ids } = world
    await reconciler.turn(never)
    await shipAndDie(false)
    const areCut = async () => {
      await reconciler.turn(never)
      return !(await ids()).includes('left behind')
    }
    expect(await areCut()).toBe(false)
    return { ...world, areCut }
  }

  it('are cut after ten minutes, or once the store may be an older one', async () => {
    const { clock, areCut } = await setUpLeft()
    await clock.advance(599_999)
    expect(await areCut()).toBe(false)
    await clock.advance(1)
    expect(await areCut()).toBe(true)
    const { reconciler, areCut: areOthersCut } = await setUpLeft()
    reconciler.allAgain()
    expect(await areOthersCut()).toBe(true)
  })

  it('are cut by the next turn where an error of the store ended that of all', async () => {
    const { reconciler, store, areCut } = await setUpLeft()
    const { checkpoints } = store.catalogue
    store.catalogue.checkpoints = () =>
      Promise.reject(new Failure('retry', 'store_unavailable', 'the store is away'))
    reconciler.allAgain()
    await expect(reconciler.turn(never)).rejects.toThrow('away')
    store.catalogue.checkpoints = async () => {
      // The store shows that it may be an older one during the work: that counts too.
      reconciler.allAgain()
      return []
    }
    expect(await areCut()).toBe(true)
    let turns = 0
    store.catalogue.checkpoints = () => (turns++, checkpoints())
    await reconciler.turn(never)
    await reconciler.turn(never)
    expect(turns).toBe(1)
  })

  it('are cut by the next turn after a pump of their stream that ended in an error', async () => {
    const { reconciler, stream, areCut } = await setUpLeft()
    const pump = () => Promise.reject(new Failure('cancelled', 'fence_lost', 'x'))
    await expect(reconciler.pumping(stream, pump)).rejects.toThrow('x')
    expect(await areCut()).toBe(true)
  })

  it('stay while their stream is pumped here or held elsewhere, and are cut by the turn after that', async () => {
    const { reconciler, stream, store, areCut } = await setUpLeft()
    reconciler.allAgain()
    const pumping = Promise.withResolvers<void>()
    const pump = reconciler.pumping(stream, () => pumping.promise)
    expect(await areCut()).toBe(false)
    pumping.resolve()
    await pump
    const { fence } = await store.ledger.take(stream, { id: 'another', schedule: false })
    expect(await areCut()).toBe(false)
    await store.ledger.release(stream, fence)
    expect(await areCut()).toBe(true)
  })

  it('are cut although the folder of another zone is a link, which is reported', async () => {
    const { reconciler, store, stream, path, told, areCut } = await setUpLeft()
    const other = { ...stream, zone: 5 }
    await commitOnce(store, other)
    symlinkSync(temporaryFolder(), join(path, 'shield_zone=5'))
    reconciler.allAgain()
    // Not thrown: the housekeeping that follows must not wait for somebody to remove the link.
    expect(await areCut()).toBe(true)
    const message = expect.stringContaining('shield_zone=5 is a symbolic link') as string
    const error = { code: 'unwritable', message }
    expect(told.at(-1)).toMatchObject({ name: 'UpkeepFailed', task: 'reconciliation', error })
  })
})
