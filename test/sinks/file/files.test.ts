import { mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Day } from '../../../src/domain/day.ts'
import type { TransactionalSink } from '../../../src/ports/delivery.ts'
import { otherSinkOn } from '../../../src/sinks/file/identity.ts'
import { parsePartName, partName } from '../../../src/sinks/file/parts.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { buildEvents, never, streamOf, StreamLedger } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
let sink: TransactionalSink
let ledger: StreamLedger

beforeEach(async () => {
  bench = await createWorkbench()
  sink = bench.sink()
  ledger = new StreamLedger(streamOf(sink, 101))
})
afterEach(() => bench.dispose())

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777
}

it('applies its modes whatever the umask is', async () => {
  const umask = process.umask(0o077)
  try {
    sink = bench.sink({ mode: 0o640, dirMode: 0o750 })
    await ledger.ship(sink, buildEvents(1))
  } finally {
    process.umask(umask)
  }
  const [file] = await bench.files()
  expect(await modeOf(join(bench.folder(), file!))).toBe(0o640)
  for (const folder of [
    bench.path,
    join(bench.path, '.shieldlog'),
    join(bench.path, 'zone=101'),
    bench.folder(),
  ])
    expect(await modeOf(folder)).toBe(0o750)
  for (const own of await readdir(join(bench.path, '.shieldlog')))
    expect(await modeOf(join(bench.path, '.shieldlog', own))).toBe(0o640)
})

it('looks for parts of another sink only where a sink writes parts', async () => {
  await ledger.ship(sink, buildEvents(1))
  const own = { store: ledger.storeId, names: ['files'] }
  expect(await otherSinkOn(bench.path, own)).toBe('archive')
  await rename(join(bench.path, 'zone=101'), join(bench.path, 'moved-away'))
  expect(await otherSinkOn(bench.path, own)).toBeUndefined()
})

it('opens another part by size, and never splits a delivery over two parts', async () => {
  sink = bench.sink({ rotate: { maxBytes: 300, maxAgeMinutes: 1440 } })
  for (const page of ['a', 'b', 'c']) await ledger.ship(sink, buildEvents(10, page))
  const files = await bench.files()
  expect(files).toHaveLength(3)
  for (const [index, page] of ['a', 'b', 'c'].entries()) {
    const lines = (await readFile(join(bench.folder(), files[index]!), 'utf8')).trim().split('\n')
    expect(lines).toHaveLength(10)
    expect(lines.every((line) => line.includes(`"${page}-`))).toBe(true)
  }
})

it('opens another part by age, in a pump and between pumps', async () => {
  const clock = createFakeClock()
  sink = bench.sink({ rotate: { maxBytes: 1e9, maxAgeMinutes: 60 } }, { clock })
  const opened = await ledger.open(sink)
  ledger.commit((await opened.deliver(buildEvents(1, 'a'), never())).committed)
  await clock.advance(59 * 60_000)
  ledger.commit((await opened.deliver(buildEvents(1, 'b'), never())).committed)
  expect(await bench.files()).toHaveLength(1)
  await clock.advance(2 * 60_000)
  ledger.commit((await opened.deliver(buildEvents(1, 'c'), never())).committed)
  expect(await bench.files()).toHaveLength(2)
  await opened.close()
  await clock.advance(61 * 60_000)
  await ledger.ship(sink, buildEvents(1, 'd'))
  expect(await bench.files()).toHaveLength(3)
})

it('holds no file open between pumps', async () => {
  const ledgers = Array.from({ length: 40 }, (_, zone) => new StreamLedger(streamOf(sink, zone)))
  const opened = await Promise.all(ledgers.map((ledger) => ledger.open(sink)))
  await Promise.all(opened.map((stream) => stream.deliver(buildEvents(1), never())))
  expect(await bench.openFiles()).toBe(40)
  await Promise.all(opened.map((stream) => stream.close()))
  expect(await bench.openFiles()).toBe(0)
})

it.each([
  ['the day', () => bench.folder()],
  ['the zone', () => join(bench.path, 'zone=101')],
  ['its own folder', () => join(bench.path, '.shieldlog')],
  ['what was cut', () => join(bench.path, '.shieldlog', 'aside')],
])('refuses a link at the place of %s', async (_what, pathOf) => {
  const outside = join(bench.path, '..', 'outside')
  await mkdir(outside)
  await mkdir(join(pathOf(), '..'), { recursive: true })
  await symlink(outside, pathOf())
  const error = await ledger.ship(sink, buildEvents(1)).catch((error: unknown) => error)
  expect(error).toMatchObject({
    kind: 'stop',
    code: 'unwritable',
    message: expect.stringContaining(pathOf()),
  })
  expect(await readdir(outside)).toEqual([])
})

it('neither follows nor cuts a link at the place of a part', async () => {
  await ledger.ship(sink, buildEvents(1, 'a'))
  const [file] = await bench.files()
  const outside = join(bench.path, '..', 'outside.ndjson')
  await rename(join(bench.folder(), file!), outside)
  await symlink(outside, join(bench.folder(), file!))
  const before = await readFile(outside)
  ledger.committed.set(file!, { ...ledger.committed.get(file!)!, bytes: 1 })
  await ledger.ship(sink, buildEvents(1, 'b'))
  expect(await readFile(outside)).toEqual(before)
  expect(await bench.ids()).toEqual(['b-0'])
  // A full device must not look like a part either.
  await rm(join(bench.folder(), file!))
  await symlink('/dev/full', join(bench.folder(), file!))
  await ledger.ship(sink, buildEvents(1, 'c'))
  expect(await bench.ids()).toEqual(['b-0', 'c-0'])
})

it.each([
  [-1, '2025-11-20'],
  [1.5, '2025-11-20'],
  [101, '../../etc'],
  [101, '2025-02-30'],
])('has no path for zone %s and day %s', async (zone, day) => {
  const stream = { zone, day: day as Day, sink: 'archive' }
  await expect(sink.reconcile(stream, ledger.known(), never())).rejects.toMatchObject({ code: 'unwritable' })
})

it('accepts a path that is itself a link', async () => {
  const real = join(bench.path, '..', 'volume')
  await mkdir(real)
  await symlink(real, bench.path)
  await ledger.ship(sink, buildEvents(1))
  expect(await readdir(real)).toContain('zone=101')
})

it('takes the stream from an earlier pump of this process', async () => {
  const first = await ledger.open(sink)
  await first.deliver(buildEvents(1, 'lost'), never())
  const second = await ledger.open(sink)
  await expect(first.deliver(buildEvents(1), never())).rejects.toMatchObject({ kind: 'cancelled' })
  await first.close()
  ledger.commit((await second.deliver(buildEvents(1, 'kept'), never())).committed)
  expect(await bench.ids()).toEqual(['kept-0'])
})

it('opens nothing after it was closed', async () => {
  await sink.close()
  await expect(ledger.open(sink)).rejects.toMatchObject({ kind: 'cancelled' })
})

it('parses its part names', () => {
  const name = partName(12, Date.UTC(2025, 10, 20, 13, 5, 1, 234), 'k3v9w2')
  expect(name.name).toBe('0012-20251120T130501Z-k3v9w2.ndjson')
  expect(parsePartName(name.name)).toEqual(name)
  expect(parsePartName('0012-20251120T130501Z-../../x.ndjson')).toBeUndefined()
  expect(parsePartName('events.ndjson')).toBeUndefined()
})
