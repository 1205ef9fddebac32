import { readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readArchive } from '../../../src/sinks/file/parts.ts'
import { buildEvents, never, StreamLedger, streamOf } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench

beforeEach(async () => {
  bench = await createWorkbench()
})
afterEach(() => bench.dispose())

const own = { store: 'store-1', names: ['archive'] }
const retention = { days: 30, maxBytes: 1_000 }

async function ship(daysAgo: number, { zone = 101, store = 'store-1', name = 'archive' } = {}) {
  const sink = bench.sink({ name, retention })
  const ledger = new StreamLedger(streamOf(sink, zone, daysAgo), store)
  await ledger.ship(sink, buildEvents(3, `${store}-${name}`))
  await sink.close()
  return ledger
}

const setUp = () => bench.sink({ retention }).retention!

it('lists the days of its own store and of its names, with their sizes', async () => {
  expect(await setUp().stored(own, never())).toEqual([])
  const ledgers = [await ship(2), await ship(3, { zone: 102 })]
  await ship(4, { store: 'store-2' })
  await ship(5, { name: 'former' })
  writeFileSync(join(bench.path, 'shield_zone=101', 'notes'), '')
  symlinkSync(bench.folder(101, 2), join(bench.path, 'shield_zone=101', 'day=2025-11-01'))
  renameSync(join(bench.path, 'shield_zone=102'), join(bench.path, 'shield_zone=0102'))
  const stored = await setUp().stored(own, never())
  const sizes = ledgers[0]!.known().committed.map(({ bytes }) => bytes)
  expect(stored).toEqual([{ zone: 101, day: ledgers[0]!.stream.day, bytes: sizes[0] }])
  expect(await setUp().stored({ ...own, names: ['archive', 'former'] }, never())).toHaveLength(2)
  const unsized = bench.sink({ retention: { days: 1, maxBytes: null } }).retention!
  expect(await unsized.stored(own, never())).toMatchObject([{ bytes: 0 }])
})

it('removes all parts of a day after the mark, and leaves those of another store', async () => {
  const { stream } = await ship(2)
  const [part] = await bench.files(101, 2)
  // Both forms of a part.
  writeFileSync(join(bench.folder(101, 2), `${part}.gz`), 'x')
  const found: string[][] = []
  const mark = async () => void found.push(await bench.files(101, 2))
  const kept = setUp()
  expect(await kept.remove(stream, own, mark, never())).toBeGreaterThan(1)
  expect(found).toEqual([[part, `${part}.gz`]])
  expect(readdirSync(join(bench.path, 'shield_zone=101'))).toEqual([])
  expect(await kept.remove(stream, own, mark, never())).toBe(0)
  expect(found).toHaveLength(1)

  await ship(2)
  await ship(2, { store: 'store-2' })
  await kept.remove(stream, own, mark, never())
  expect(await bench.ids(101, 2)).toEqual(buildEvents(3, 'store-2-archive').map(({ id }) => id))
})

it('removes nothing where the mark fails, and no part that was written after it', async () => {
  const { stream } = await ship(2)
  const refused = () => Promise.reject(new Error('refused'))
  await expect(setUp().remove(stream, own, refused, never())).rejects.toThrow('refused')
  expect(await bench.files(101, 2)).toHaveLength(1)
  const later = async () => void (await ship(2))
  await setUp().remove(stream, own, later, never())
  expect(await bench.files(101, 2)).toHaveLength(1)
})

it('a day that is removed while an archive is read from it is not read to its end without what is gone', async () => {
  const { stream } = await ship(2)
  await ship(2, { store: 'store-2' })
  const read = async () => {
    for await (const piece of readArchive(bench.path, stream))
      if ('wholeLines' in piece) rmSync(bench.folder(101, 2), { recursive: true, force: true })
  }
  await expect(read()).rejects.toMatchObject({
    message: expect.stringContaining('was removed while the day was read') as string,
  })
})
