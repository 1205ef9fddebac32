import {
  appendFile,
  copyFile,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Day } from '../../../src/domain/day.ts'
import { Failure } from '../../../src/domain/failure.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { OpenStream, TransactionalSink } from '../../../src/ports/delivery.ts'
import type { FileSinkSettings } from '../../../src/sinks/file/config.ts'
import { parsePartName, readArchive } from '../../../src/sinks/file/parts.ts'
import { compareParts } from '../../../src/sinks/file/compare.ts'
import { otherSinkOn } from '../../../src/sinks/file/stored-days.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'
import { buildEvents, contractFormat, never, StreamLedger, streamOf } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
let clock: FakeClock
let sink: TransactionalSink
let ledger: StreamLedger

beforeEach(async () => {
  bench = await createWorkbench()
  clock = createFakeClock()
  sink = bench.sink()
  ledger = new StreamLedger(streamOf(sink, 101))
})
afterEach(() => bench.dispose())

function part(index = 0): string {
  return join(bench.folder(), [...ledger.committed.keys()][index]!)
}

async function reopen(readable = true): Promise<void> {
  await (await ledger.open(sink, readable)).close()
}

/** Delivers a page and commits it. */
async function ship(opened: OpenStream, count: number, prefix: string): Promise<void> {
  ledger.commit((await opened.deliver(buildEvents(count, prefix), never())).committed)
}

function differences(readable = true) {
  return compareParts(bench.path, ledger.stream, ledger.known(readable))
}

describe('parts', () => {
  it('applies its modes whatever the umask is', async () => {
    const umask = process.umask(0o077)
    try {
      sink = bench.sink({ mode: 0o640, dirMode: 0o750 })
      await ledger.ship(sink, buildEvents(1))
    } finally {
      process.umask(umask)
    }
    const entries = await readdir(bench.path, { recursive: true, withFileTypes: true })
    // The sink's own folder with the file of the writer, and the part below its zone and day.
    expect(entries).toHaveLength(5)
    for (const entry of entries)
      expect((await stat(join(entry.parentPath, entry.name))).mode & 0o7777).toBe(
        entry.isFile() ? 0o640 : 0o750,
      )
  })

  it('looks for parts of another sink only where a sink writes parts', async () => {
    await ledger.ship(sink, buildEvents(1))
    const own = { store: ledger.storeId, names: ['files'] }
    expect(await otherSinkOn(bench.path, own)).toBe('archive')
    await rename(join(bench.path, 'shield_zone=101'), join(bench.path, 'moved-away'))
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
    sink = bench.sink({ rotate: { maxBytes: 1e9, maxAgeMinutes: 60 } }, { clock })
    const opened = await ledger.open(sink)
    await ship(opened, 1, 'a')
    await clock.advance(59 * 60_000)
    await ship(opened, 1, 'b')
    expect(await bench.files()).toHaveLength(1)
    await clock.advance(2 * 60_000)
    await ship(opened, 1, 'c')
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
    ['the zone', () => join(bench.path, 'shield_zone=101')],
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
  })

  it.each([
    [1.5, '2025-11-20'],
    [101, '../../etc'],
  ])('has no path for zone %s and day %s', async (zone, day) => {
    const stream = { zone, day: day as Day, sink: 'archive' }
    await expect(sink.reconcile(stream, ledger.known(), never())).rejects.toMatchObject({
      code: 'unwritable',
    })
  })

  it('takes the stream from an earlier pump of this process', async () => {
    const first = await ledger.open(sink)
    await first.deliver(buildEvents(1, 'lost'), never())
    const second = await ledger.open(sink)
    await expect(first.deliver(buildEvents(1), never())).rejects.toMatchObject({ kind: 'cancelled' })
    await first.close()
    await ship(second, 1, 'kept')
    expect(await bench.ids()).toEqual(['kept-0'])
  })

  it('keeps committed lines when a frozen writer goes on after its stream was taken over', async () => {
    const frozen = await ledger.open(sink)
    await ship(frozen, 3, 'a')
    await frozen.deliver(buildEvents(3, 'b'), never())
    await ledger.ship(bench.sink(), buildEvents(3, 'b'))
    expect(ledger.committed.size).toBe(2)
    // The limit that is written down: its tail stands until its lock is free.
    expect((await bench.ids()).filter((id) => id === 'b-0')).toHaveLength(2)
    await frozen.deliver(buildEvents(2, 'c'), never())
    // Its commit was refused; it reads the checkpoint and opens anew, which cuts its own part and nobody else's.
    await reopen()
    expect(await bench.ids()).toEqual(['a-0', 'a-1', 'a-2', 'b-0', 'b-1', 'b-2'])
  })

  it('gives processes that live at once different identities, and a later one a free one', async () => {
    async function writerOf(own: TransactionalSink): Promise<string> {
      const opened = await ledger.open(own)
      const { committed } = await opened.deliver(buildEvents(1), never())
      ledger.commit(committed)
      await opened.close()
      return committed[0]!.writer
    }
    const first = await writerOf(sink)
    expect(await writerOf(bench.sink())).not.toBe(first)
    await sink.close()
    expect(await writerOf(bench.sink())).toBe(first)
  })
})

describe('reconciliation', () => {
  /** What was kept of cuts. */
  async function aside(): Promise<Buffer[]> {
    const names = await readdir(asideFolder()).catch(() => [])
    return await Promise.all(names.map((name) => readFile(join(asideFolder(), name))))
  }

  function asideFolder(): string {
    return join(bench.path, '.shieldlog', 'aside')
  }

  it('keeps the longest copy of a repeated cut for two weeks', async () => {
    // Also with tests at another date, files have the time of this host.
    clock = createFakeClock(performance.timeOrigin + performance.now())
    const sizes: number[] = []
    sink = bench.sink({}, { clock })
    for (const count of [20, 90, 30]) {
      const opened = await ledger.open(sink)
      sizes.push((await opened.deliver(buildEvents(count, 'b'), never())).bytes)
      await sink.close()
      await clock.advance(1000)
      sink = bench.sink({}, { clock })
      await reopen()
    }
    expect((await aside()).map(({ length }) => length)).toEqual([1000, Math.max(...sizes), 1000])
    await sink.close()
    await clock.advance(13 * 86_400_000)
    sink = bench.sink({}, { clock })
    await reopen()
    expect(await aside()).toHaveLength(3)
    await sink.close()
    await clock.advance(2 * 86_400_000)
    sink = bench.sink({}, { clock })
    await reopen()
    expect(await aside()).toEqual([])
  })

  it('cuts nothing if the stream was taken over while this pump was suspended', async () => {
    await ledger.ship(sink, buildEvents(3, 'newer'))
    ledger.committed.clear()
    ledger.confirm = () =>
      Promise.reject(new Failure('cancelled', 'fence_lost', 'another pump has the stream'))
    await expect(ledger.open(sink)).rejects.toMatchObject({ code: 'fence_lost' })
    expect(await bench.ids()).toHaveLength(3)
  })

  it('never pads a part that is shorter than its committed length, and writes a new one', async () => {
    await ledger.ship(sink, buildEvents(3, 'a'))
    const path = part()
    const [committedPart] = ledger.committed.values()
    await truncate(path, committedPart!.bytes - 5)
    await ledger.ship(sink, buildEvents(1, 'b'))
    await reopen()
    expect(bench.named('FileShort')).toMatchObject([
      { expected: committedPart!.bytes, found: committedPart!.bytes - 5 },
    ])
    expect(await readFile(path, 'utf8')).not.toContain('\0')
    expect(await bench.ids()).toEqual(['a-0', 'a-1', 'b-0'])
    expect(await differences()).toMatchObject([{ problem: 'short', expectedBytes: committedPart!.bytes }])
  })

  it('reports once that a part is gone, and never reuses its name', async () => {
    await ledger.ship(sink, buildEvents(1, 'a'))
    await rm(part())
    await ledger.ship(sink, buildEvents(1, 'b'))
    await reopen()
    expect(bench.named('FileShort')).toMatchObject([{ found: 0 }])
    expect(ledger.committed.size).toBe(2)
    expect(await differences()).toMatchObject([{ problem: 'missing' }])
  })

  it('does not report a part that is on the disk of another host', async () => {
    ledger.commit([
      { writer: 'elsewhere', part: '0001-20251120T120000Z-elsewhere.ndjson', bytes: 10, lines: 1 },
    ])
    await ledger.ship(sink, buildEvents(1, 'a'))
    expect(bench.named('FileShort')).toEqual([])
    expect(await bench.files()).toEqual([expect.stringMatching(/^0002-/)])
  })

  it.each([
    ['moved away', (path: string) => rename(path, `${path}.1`), 'gone'],
    ['deleted', (path: string) => rm(path), 'gone'],
    ['replaced', (path: string) => rm(path).then(() => writeFile(path, 'x\n')), 'another file'],
    ['linked', (path: string) => link(path, `${path}.backup`), '2 hard links'],
    ['emptied', (path: string) => truncate(path, 0), 'bytes instead of'],
    ['appended to', (path: string) => appendFile(path, 'x\n'), 'bytes instead of'],
  ])('opens another part if the current one was %s', async (_what, change, why) => {
    const opened = await ledger.open(sink)
    await ship(opened, 2, 'a')
    await change(part())
    await ship(opened, 2, 'b')
    await opened.close()
    expect(bench.named('FileReplaced')).toMatchObject([{ why: expect.stringContaining(why) }])
    expect(await readFile(part(1), 'utf8')).toMatch(/^\{"id":"b-0".*\n\{"id":"b-1".*\n$/)
  })

  it('does not change a file that replaced a part', async () => {
    await ledger.ship(sink, buildEvents(2, 'a'))
    const other = 'x'.repeat(10_000)
    await writeFile(part(), other)
    await ledger.ship(sink, buildEvents(1, 'b'))
    expect(await readFile(part(), 'utf8')).toBe(other)
    expect(bench.named('FileReplaced')).toHaveLength(1)
  })

  it('does not change the parts of another sink or of a writer without a file', async () => {
    const other = bench.sink({ name: 'other' })
    await new StreamLedger({ ...ledger.stream, sink: 'other' }).ship(other, buildEvents(1, 'other'))
    await ledger.ship(sink, buildEvents(1, 'a'))
    await writeFile(join(bench.folder(), '0009-20251120T120000Z-nobody.ndjson'), '{"id":"nobody"}\n')
    await reopen()
    expect((await bench.ids()).sort()).toEqual(['a-0', 'nobody', 'other-0'])
    expect(bench.named('FileCut')).toEqual([])
  })

  it('continues its parts after the sink was renamed in the store', async () => {
    await ledger.ship(sink, buildEvents(1, 'a'))
    const opened = await ledger.open(sink)
    await opened.deliver(buildEvents(1, 'b'), never())
    await sink.close()
    const renamed = new StreamLedger({ ...ledger.stream, sink: 'renamed' })
    renamed.commit([...ledger.committed.values()])
    await renamed.ship(bench.sink({ name: 'renamed' }), buildEvents(1, 'c'))
    expect(await bench.ids()).toEqual(['a-0', 'c-0'])
  })

  /** One committed line in a part, and others in it that were never committed. */
  async function leave(uncommitted: string): Promise<void> {
    await ledger.ship(sink, buildEvents(1, 'a'))
    await appendFile(part(), uncommitted)
  }

  /** What a backfill reads of the copy for a stream. */
  async function linesOf(stream: Stream): Promise<string[]> {
    const lines: string[] = []
    for await (const piece of readArchive(ledger.lost[0]!, stream))
      if ('lines' in piece) lines.push(...piece.lines)
    return lines
  }

  it('names the copy of whole lines before it cuts them', async () => {
    await leave('{"id":"b-0"}\n{"id":"torn')
    let before: string[] = []
    ledger.onLost = async () => void (before = await bench.files())
    await reopen(false)
    expect(ledger.lost).toHaveLength(1)
    expect(await readFile(ledger.lost[0]!, 'utf8')).toBe('{"id":"b-0"}\n{"id":"torn')
    expect(before).toHaveLength(1)
    expect(await linesOf(ledger.stream)).toEqual(['{"id":"b-0"}'])
    expect(await linesOf({ ...ledger.stream, zone: 102 })).toEqual([])
    expect(await bench.ids()).toEqual(['a-0'])
    await reopen(false)
    expect(ledger.lost).toHaveLength(1)
  })

  it('names no copy for a torn line: its event was never whole', async () => {
    await leave('{"id":"torn')
    await reopen(false)
    expect(ledger.lost).toEqual([])
    expect(await bench.ids()).toEqual(['a-0'])
  })

  it('cuts nothing while it cannot keep a copy', async () => {
    await leave('{"id":"b-0"}\n')
    const [known] = ledger.committed.values()
    const { zone, day } = ledger.stream
    const copy = `shield_zone=${zone}.day=${day}.${known!.part}.from-${known!.bytes}`
    const inTheWay = join(asideFolder(), `${copy}.unfinished`)
    await mkdir(inTheWay, { recursive: true })
    await expect(ledger.open(sink, false)).rejects.toMatchObject({ code: 'unwritable' })
    expect(await bench.openFiles()).toBe(0)
    expect(await bench.ids()).toEqual(['a-0', 'b-0'])
    await rmdir(inTheWay)
    await reopen(false)
    expect(await readdir(asideFolder())).toEqual([copy])
  })

  it('leaves parts as they are whose lengths the store has dropped, and writes beside them', async () => {
    await ledger.ship(sink, buildEvents(2, 'a'))
    ledger.committed.clear()
    ledger.knownSinceMs = Infinity
    await reopen(false)
    const opened = await ledger.open(sink, false)
    await ship(opened, 1, 'b')
    await opened.close()
    expect(await bench.files()).toHaveLength(2)
    expect(await bench.ids()).toEqual(['a-0', 'a-1', 'b-0'])
    expect(ledger.lost).toEqual([])
    const known = ledger.known(false)
    expect(await compareParts(bench.path, ledger.stream, known)).toEqual([])
    expect(await sink.hasUncommitted(ledger.stream, known)).toBe(false)
  })
})

it('looks again at a part that takes no more events only after the reconciler has', async () => {
  sink = bench.sink({ rotate: { maxBytes: 200, maxAgeMinutes: 60 } }, { clock })
  for (const prefix of ['a', 'b', 'c']) await ledger.ship(sink, buildEvents(10, prefix))
  const all = await bench.ids()
  const [first] = await bench.files()
  // As by a process that was suspended until then and is killed now.
  await appendFile(join(bench.folder(), first!), `${contractFormat.encode(buildEvents(1, 'x')[0]!)}\n`)
  await reopen()
  expect(await bench.ids()).toContain('x-0')
  expect(await sink.hasUncommitted(ledger.stream, ledger.known())).toBe(true)
  await reopen()
  expect(await bench.ids()).toEqual(all)
})

it('numbers a new part after those at which it no longer looks', async () => {
  sink = bench.sink({ rotate: { maxBytes: 200, maxAgeMinutes: 60 } }, { clock })
  for (const prefix of ['a', 'b', 'c']) await ledger.ship(sink, buildEvents(10, prefix))
  for (const file of await bench.files()) await rm(join(bench.folder(), file))
  await ledger.ship(sink, buildEvents(10, 'd'))
  expect(parsePartName((await bench.files())[0]!)!.number).toBe(4)
})

describe('compression', () => {
  function compressing(compress: FileSinkSettings['compress']): TransactionalSink {
    return bench.sink({ compress, rotate: { maxBytes: 200, maxAgeMinutes: 60 } }, { clock })
  }

  /** One part, which is compressed then. */
  async function shipCompressed(sink: TransactionalSink): Promise<void> {
    await ledger.ship(sink, buildEvents(10, 'a'))
    await reopen()
    await clock.advance(120_000)
    await compressed()
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
    sink = compressing(compress)
    await shipTwoParts(sink)
    // Only the lengths of the next reconcile tell that the second one was committed.
    await reopen()
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
    expect(await differences()).toEqual([])
    // The committed lengths still name the plain part, and the stream goes on beside it.
    await ledger.ship(sink, buildEvents(1, 'c'))
    expect(await bench.ids()).toEqual([...all, 'c-0'])
    expect(bench.named('FileShort')).toEqual([])
  })

  it('reports a part that cannot be compressed, and closes it', async () => {
    sink = compressing('gzip')
    await shipTwoParts(sink)
    await reopen()
    const [first] = await bench.files()
    // In the way of its temporary file.
    await mkdir(join(bench.path, '.shieldlog', `${parsePartName(first!)!.writer}.unfinished.gz`))
    await clock.advance(120_000)
    await expect.poll(() => bench.named('CompressionFailed').length).toBeGreaterThan(0)
    expect(bench.named('CompressionFailed')[0]).toMatchObject({ part: join(bench.folder(), first!) })
    await expect.poll(() => bench.openFiles()).toBe(0)
  })

  it('compresses the last part of a stream that is no longer opened, once it is too old to continue', async () => {
    sink = bench.sink({ compress: 'gzip', rotate: { maxBytes: 1e9, maxAgeMinutes: 60 } }, { clock })
    await ledger.ship(sink, buildEvents(3, 'a'))
    await reopen()
    await clock.advance(59 * 60_000)
    expect(await bench.files()).toEqual([expect.stringMatching(/ndjson$/)])
    await clock.advance(3 * 60_000)
    await compressed()
    expect(await bench.ids()).toEqual(['a-0', 'a-1', 'a-2'])
  })

  it('compresses the last part of a stream that no pump opens again, once the reconciler has looked at it', async () => {
    sink = bench.sink({ compress: 'gzip', rotate: { maxBytes: 1e9, maxAgeMinutes: 60 } }, { clock })
    await ledger.ship(sink, buildEvents(3, 'a'))
    expect(await sink.hasUncommitted(ledger.stream, ledger.known())).toBe(false)
    await clock.advance(62 * 60_000)
    await compressed()
  })

  it('keeps the lines of a part next to a compressed file with other content', async () => {
    await shipTwoParts(compressing('none'))
    const [first] = await bench.files()
    const path = join(bench.folder(), first!)
    const before = await readFile(path)
    await writeFile(`${path}.gz`, gzipSync('{"id":"other"}\n'))
    // Another process has taken the identity over.
    await bench.closeAll()
    sink = bench.sink({}, { clock })
    await reopen()
    const aside = join(bench.path, '.shieldlog', 'aside')
    const [kept] = await readdir(aside)
    expect(await readFile(join(aside, kept!))).toEqual(before)
  })

  it('never cuts a compressed part, and reports that its lines will be written twice', async () => {
    sink = compressing('gzip')
    await shipCompressed(sink)
    const [file] = await bench.files()
    const path = join(bench.folder(), file!)
    await copyFile(path, `${path}.copy`)
    ledger.committed.clear()
    await reopen()
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
      sink = bench.sink({ compress, rotate: { maxBytes: 200, maxAgeMinutes: 60 } }, { clock, openFile })
      await ledger.ship(sink, buildEvents(10, 'a'))
      await reopen()
      await clock.advance(120_000)
      await expect.poll(() => bench.named('CompressionFailed')).toHaveLength(1)
      expect(await bench.files()).toEqual([expect.stringMatching(/ndjson$/)])
      expect(await bench.ids()).toEqual(buildEvents(10, 'a').map(({ id }) => id))
    },
  )

  it('writes a checksum into a zstd file, so that other tools detect damage too', async () => {
    sink = compressing('zstd')
    await shipCompressed(sink)
    const [file] = await bench.files()
    const bytes = await readFile(join(bench.folder(), file!))
    expect(bytes[4]! & 0b100).toBe(0b100)
    // The checksum is what stands last.
    bytes[bytes.length - 1]! ^= 0xff
    expect(() => zstdDecompressSync(bytes)).toThrow('checksum')
  })
})
