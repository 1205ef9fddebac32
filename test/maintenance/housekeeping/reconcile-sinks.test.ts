import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { dayOf, type Day } from '../../../src/domain/day.ts'
import type { CommittedPart } from '../../../src/domain/event/delivery.ts'
import { Failure } from '../../../src/domain/failure.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import { newCheckpoint } from '../../../src/domain/checkpoint.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import type { TransactionalSink } from '../../../src/ports/delivery.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { createSinkReconciler } from '../../../src/maintenance/housekeeping/reconcile-sinks.ts'
import { createFileSink } from '../../../src/sinks/file/sink.ts'
import { readParts } from '../../sinks/file/samples.ts'
import { openMemoryStore } from '../../setup/stores.ts'
import { noTracer } from '../../fakes/no-tracer.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { eventOf } from '../../pump/model/entry.ts'

const zone = { id: 7, name: 'seven', account: 'default' }
const never = new AbortController().signal

async function setUp(day: Day) {
  const path = temporaryFolder()
  const clock = systemClock
  const telemetry = { emit: () => undefined }
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1e6 })
  const stream = { zone: 7, day, sink: 'archive' }
  const settings = {
    name: 'archive',
    path,
    mode: 0o600,
    dirMode: 0o700,
    rotate: { maxBytes: 1e9, maxAgeMinutes: 1440 },
    compress: 'none',
  } as const
  const openSink = () => createFileSink(settings, { format: createNativeFormat(), clock, telemetry })

  const timeMs = Date.parse(`${day}T10:00:00Z`)
  const event = (id: string) =>
    eventOf({ key: id, id, day, timeMs, sortMs: timeMs, arrivesAtMs: timeMs, shuffle: 0 }, 7)

  /** Ships two events; of the second the commit never comes, as after `kill -9`. */
  async function shipAndDie(sink: TransactionalSink, isEnded = true): Promise<void> {
    const { fence } = await store.ledger.take(stream, { id: 'dead', schedule: true })
    const confirm = async () => undefined
    const known = { storeId: store.id, committed: [] as CommittedPart[], confirm }
    const open = await sink.reconcile(stream, known, never)
    const { committed } = await open.deliver([event('kept')], never)
    const ended = { as: 'complete', atMs: clock.now() } as const
    const next = {
      ...newCheckpoint(stream, clock.now(), unknownOrdering),
      commit: 1,
      committed,
      ...(isEnded && { ended }),
    }
    await store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
    await open.deliver([event('left behind')], never)
    await sink.close()
    await store.ledger.release(stream, fence)
  }

  const deps = {
    source: { fetchPage: () => Promise.reject(new Error('nothing is to be read')) },
    store,
    clock,
    apiClock: createApiClock(clock),
    telemetry,
    tracer: noTracer,
    policy: { readableDays: 3 } as never,
    holder: { id: 'next', schedule: true },
    random: Math.random,
    zones: () => [zone],
  }
  async function ids(): Promise<string[]> {
    const found: string[] = []
    for await (const line of readParts(path, 7, day)) found.push((JSON.parse(line) as { id: string }).id)
    return found
  }
  return { store, stream, path, openSink, shipAndDie, deps, ids }
}

const today = dayOf(Date.now())

it.each([
  ['a complete day that can be read', today, true],
  ['a complete day that can no longer be read', '2026-01-05' as Day, true],
  ['a stream that others have finished', today, false],
])('of %s, lines of a killed process are cut, and a copy is kept', async (_, day, isEnded) => {
  const { store, stream, path, openSink, shipAndDie, deps, ids } = await setUp(day)
  await shipAndDie(openSink(), isEnded)
  const sink = openSink()
  await createSinkReconciler({ ...deps, sinks: new Map([['archive', sink]]) }).reconcileAll(never)
  expect(await ids()).toEqual(['kept'])
  const aside = join(path, '.shieldlog', 'aside')
  expect(readdirSync(aside).map((name) => readFileSync(join(aside, name), 'utf8'))).toEqual([
    expect.stringContaining('left behind'),
  ])
  // The last scan of a complete day has shipped all that the API lists.
  expect(await store.catalogue.gaps()).toEqual([])
  expect((await store.ledger.read(stream))?.commit).toBe(1)
  await sink.close()
  await store.close()
})

describe('a stream that others have finished', () => {
  async function setUpLeft() {
    const world = await setUp(today)
    await world.shipAndDie(world.openSink(), false)
    const sink = world.openSink()
    const reconciler = createSinkReconciler({ ...world.deps, sinks: new Map([['archive', sink]]) })
    const end = async () => {
      await sink.close()
      await world.store.close()
    }
    return { ...world, reconciler, end }
  }

  it('is reconciled soon after a pump that ended in an error', async () => {
    const { reconciler, stream, ids, end } = await setUpLeft()
    await reconciler.reconcileFailed(never)
    expect(await ids()).toEqual(['kept', 'left behind'])
    const failing = reconciler.pumping(stream, () =>
      Promise.reject(new Failure('cancelled', 'fence_lost', 'x')),
    )
    await expect(failing).rejects.toThrow('x')
    await reconciler.reconcileFailed(never)
    expect(await ids()).toEqual(['kept'])
    await end()
  })

  it('is skipped while it is pumped here or held elsewhere, and reconciled later', async () => {
    const { reconciler, stream, store, ids, end } = await setUpLeft()
    const pumping = Promise.withResolvers<void>()
    const pump = reconciler.pumping(stream, () => pumping.promise)
    await reconciler.reconcileAll(never)
    expect(await ids()).toEqual(['kept', 'left behind'])
    pumping.resolve()
    await pump
    const { fence } = await store.ledger.take(stream, { id: 'another', schedule: false })
    await reconciler.reconcileFailed(never)
    expect(await ids()).toEqual(['kept', 'left behind'])
    await store.ledger.release(stream, fence)
    await reconciler.reconcileFailed(never)
    expect(await ids()).toEqual(['kept'])
    await end()
  })

  it('is reconciled although the folder of another one is a link, which is reported', async () => {
    const { store, stream, path, openSink, shipAndDie, deps, ids } = await setUp(today)
    const other = { ...stream, zone: 5 }
    const { fence } = await store.ledger.take(other, { id: 'dead', schedule: true })
    const next = { ...newCheckpoint(other, systemClock.now(), unknownOrdering), commit: 1 }
    await store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
    await store.ledger.release(other, fence)
    await shipAndDie(openSink(), false)
    symlinkSync(temporaryFolder(), join(path, 'zone=5'))
    const sink = openSink()
    const zones = () => [{ id: 5, name: 'five', account: 'default' }, zone]
    const told: InternalEvent[] = []
    const telemetry = { emit: (internalEvent: InternalEvent) => void told.push(internalEvent) }
    const sinks = new Map([['archive', sink]])
    const reconciler = createSinkReconciler({ ...deps, telemetry, zones, sinks })
    const refused = {
      code: 'unwritable',
      message: expect.stringContaining('zone=5 is a symbolic link') as string,
    }
    // Not thrown: the housekeeping that follows must not wait for somebody to remove the link.
    await reconciler.reconcileAll(never)
    expect(told).toMatchObject([{ name: 'UpkeepFailed', task: 'reconciliation', error: refused }])
    expect(await ids()).toEqual(['kept'])
    await sink.close()
    await store.close()
  })
})
