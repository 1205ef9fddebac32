import { existsSync } from 'node:fs'
import { copyFile, mkdir, open, readFile, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { TransactionalSink } from '../../../src/ports/delivery.ts'
import { compareParts } from '../../../src/sinks/file/compare-parts.ts'
import type { FileSinkSettings } from '../../../src/sinks/file/config.ts'
import { parsePartName } from '../../../src/sinks/file/parts.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'
import { buildEvents, never, streamOf, StreamLedger } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
let clock: FakeClock
let ledger: StreamLedger

beforeEach(async () => {
  bench = await createWorkbench()
  clock = createFakeClock()
  ledger = new StreamLedger(streamOf({ name: 'archive' }, 101))
})
afterEach(() => bench.dispose())

function compressing(compress: FileSinkSettings['compress']): TransactionalSink {
  return bench.sink({ compress, rotate: { maxBytes: 200, maxAgeMinutes: 60 } }, { clock })
}

/** Two parts, the first of them closed. */
async function shipTwoParts(sink: TransactionalSink): Promise<void> {
  await ledger.ship(sink, buildEvents(10, 'a'))
  await ledger.ship(sink, buildEvents(10, 'b'))
}

async function compressed(count = 1): Promise<void> {
  await expect.poll(() => bench.named('PartCompressed')).toHaveLength(count)
}

const all = [...buildEvents(10, 'a'), ...buildEvents(10, 'b')].map(({ id }) => id)

it.each([
  ['gzip', '.gz', gunzipSync],
  ['zstd', '.zst', zstdDecompressSync],
] as const)('compresses a closed part a minute later: %s', async (compress, suffix, decode) => {
  const sink = compressing(compress)
  await shipTwoParts(sink)
  // Only the lengths of the next reconcile tell that the second one was committed.
  await (await ledger.open(sink)).close()
  const [first] = await bench.files()
  const plain = await readFile(join(bench.folder(), first!))
  await clock.advance(59_000)
  expect(await bench.files()).toContain(first)
  await clock.advance(61_000)
  await compressed(2)
  const files = await bench.files()
  expect(files.every((file) => file.endsWith(suffix))).toBe(true)
  expect(decode(await readFile(join(bench.folder(), `${first}${suffix}`)))).toEqual(plain)
  expect(await bench.ids()).toEqual(all)
  expect(bench.named('PartCompressed')[0]).toMatchObject({ bytes: plain.length })
  expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
  // The committed lengths still name the plain part, and the stream goes on beside it.
  await ledger.ship(sink, buildEvents(1, 'c'))
  expect(await bench.ids()).toEqual([...all, 'c-0'])
  expect(bench.named('FileShort')).toEqual([])
})

it.each([
  ['its place is taken', (first: string) => join(bench.folder(), `${first}.gz`)],
  ['its temporary file cannot be made', (first: string) => unfinishedOf(first)],
])('reports a part that cannot be compressed because %s, and closes it', async (_why, inTheWay) => {
  const sink = compressing('gzip')
  await shipTwoParts(sink)
  await (await ledger.open(sink)).close()
  const [first] = await bench.files()
  await mkdir(inTheWay(first!))
  await clock.advance(120_000)
  await expect.poll(() => bench.named('CompressionFailed').length).toBeGreaterThan(0)
  expect(bench.named('CompressionFailed')[0]).toMatchObject({ part: join(bench.folder(), first!) })
  await expect.poll(() => bench.openFiles()).toBe(0)
})

function unfinishedOf(part: string): string {
  return join(bench.path, '.shieldlog', `${parsePartName(part)!.writer}.unfinished.gz`)
}

it('compresses the last part of a stream that is no longer opened, once it is too old to continue', async () => {
  const sink = bench.sink({ compress: 'gzip', rotate: { maxBytes: 1e9, maxAgeMinutes: 60 } }, { clock })
  await ledger.ship(sink, buildEvents(3, 'a'))
  await (await ledger.open(sink)).close()
  await clock.advance(59 * 60_000)
  expect(await bench.files()).toEqual([expect.stringMatching(/ndjson$/)])
  await clock.advance(3 * 60_000)
  await compressed()
  expect(await bench.ids()).toEqual(['a-0', 'a-1', 'a-2'])
})

it('does not compress a part with an uncommitted delivery', async () => {
  const sink = compressing('gzip')
  await ledger.ship(sink, buildEvents(10, 'a'))
  const opened = await ledger.open(sink)
  const { committed } = await opened.deliver(buildEvents(10, 'b'), never())
  await opened.close()
  await clock.advance(120_000)
  await compressed()
  const [uncommitted] = committed
  expect(await bench.files()).toContain(uncommitted!.part)
  await (await ledger.open(sink)).close()
  expect(await bench.ids()).toEqual(buildEvents(10, 'a').map(({ id }) => id))
})

it.each(['before the rename', 'before the plain part goes'])('survives a crash %s', async (when) => {
  await shipTwoParts(compressing('none'))
  const [first] = await bench.files()
  const path = join(bench.folder(), first!)
  const encoded = gzipSync(await readFile(path))
  const unfinished = unfinishedOf(first!)
  await writeFile(when === 'before the rename' ? unfinished : `${path}.gz`, encoded)
  expect(await bench.ids()).toEqual(all)
  expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
  await (await ledger.open(await reborn())).close()
  expect(await bench.ids()).toEqual(all)
  const kept = when === 'before the rename' ? first : `${first}.gz`
  expect((await bench.files())[0]).toBe(kept)
  expect(await bench.files()).toHaveLength(2)
  expect(existsSync(unfinished)).toBe(false)
})

/** A sink that has taken the identity over from the ones before. */
async function reborn(): Promise<TransactionalSink> {
  await bench.closeAll()
  return bench.sink({}, { clock })
}

it('keeps the lines of a part next to a compressed file with other content', async () => {
  await shipTwoParts(compressing('none'))
  const [first] = await bench.files()
  const path = join(bench.folder(), first!)
  const before = await readFile(path)
  await writeFile(`${path}.gz`, gzipSync('{"id":"other"}\n'))
  await (await ledger.open(await reborn())).close()
  const aside = join(bench.path, '.shieldlog', 'aside')
  const [kept] = await bench.list(aside)
  expect(await readFile(join(aside, kept!))).toEqual(before)
})

it('never cuts a compressed part, and reports that its lines will be written twice', async () => {
  const sink = compressing('gzip')
  await ledger.ship(sink, buildEvents(10, 'a'))
  await (await ledger.open(sink)).close()
  await clock.advance(120_000)
  await compressed()
  const [file] = await bench.files()
  const path = join(bench.folder(), file!)
  await copyFile(path, `${path}.copy`)
  ledger.committed.clear()
  await (await ledger.open(sink)).close()
  expect(await readFile(path)).toEqual(await readFile(`${path}.copy`))
  expect(bench.named('Warned')).toHaveLength(1)
})

/** No real disk turns bits over when it is told to. */
function damaging(handle: FileHandle): FileHandle {
  const write = handle.write.bind(handle)
  return Object.assign(handle, {
    write(buffer: Buffer, offset: number, length: number) {
      const damaged = Buffer.from(buffer.subarray(offset, offset + length))
      damaged[damaged.length >> 1]! ^= 0xff
      return write(damaged, 0, length)
    },
  })
}

it.each(['gzip', 'zstd'] as const)(
  'keeps the plain part if its compressed form cannot be read back: %s',
  async (compress) => {
    const openFile = (async (path: string, flags: number, mode: number) => {
      const handle = await open(path, flags, mode)
      return path.endsWith('.ndjson') ? handle : damaging(handle)
    }) as typeof open
    const sink = bench.sink({ compress, rotate: { maxBytes: 200, maxAgeMinutes: 60 } }, { clock, openFile })
    await ledger.ship(sink, buildEvents(10, 'a'))
    await (await ledger.open(sink)).close()
    await clock.advance(120_000)
    await expect.poll(() => bench.named('CompressionFailed')).toHaveLength(1)
    expect(await bench.files()).toEqual([expect.stringMatching(/ndjson$/)])
    expect(await bench.ids()).toEqual(buildEvents(10, 'a').map(({ id }) => id))
  },
)

it('writes a checksum into a zstd file, so that other tools detect damage too', async () => {
  const sink = compressing('zstd')
  await ledger.ship(sink, buildEvents(10, 'a'))
  await (await ledger.open(sink)).close()
  await clock.advance(120_000)
  await compressed()
  const [file] = await bench.files()
  const bytes = await readFile(join(bench.folder(), file!))
  expect(bytes[4]! & 0b100).toBe(0b100)
  // The checksum is what stands last.
  bytes[bytes.length - 1]! ^= 0xff
  expect(() => zstdDecompressSync(bytes)).toThrow('checksum')
})
