import {
  appendFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { CommittedPart } from '../../../src/domain/event/delivery.ts'
import { Failure } from '../../../src/domain/failure.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { TransactionalSink } from '../../../src/ports/delivery.ts'
import { compareParts } from '../../../src/sinks/file/compare-parts.ts'
import { readArchive } from '../../../src/sinks/file/read.ts'
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

function part(index = 0): string {
  return join(bench.folder(), [...ledger.committed.keys()][index]!)
}

/** What a backup of the store would have held at this moment. */
function backup(): () => void {
  const copy = new Map(ledger.committed)
  return () => {
    ledger.committed.clear()
    ledger.commit([...copy.values()])
  }
}

/** What was kept of cuts. */
async function aside(): Promise<Buffer[]> {
  const names = await readdir(asideFolder()).catch(() => [])
  return await Promise.all(names.map((name) => readFile(join(asideFolder(), name))))
}

function asideFolder(): string {
  return join(bench.path, '.shieldlog', 'aside')
}

async function reopen(readable = true): Promise<void> {
  await (await ledger.open(sink, readable)).close()
}

it('keeps a copy of what an older copy of the store does not know', async () => {
  await ledger.ship(sink, buildEvents(50, 'large'))
  const restore = backup()
  await ledger.ship(sink, buildEvents(1, 'b'))
  await ledger.ship(sink, buildEvents(1, 'c'))
  const before = await readFile(part())
  restore()
  const [committedPart] = ledger.committed.values()
  await reopen()
  expect(await bench.ids()).toHaveLength(50)
  expect(bench.named('FileCut')).toMatchObject([
    { keptAside: true, bytes: before.length - committedPart!.bytes },
  ])
  expect(await aside()).toEqual([before.subarray(committedPart!.bytes)])
})

it('keeps the longest copy of a repeated cut for two weeks', async () => {
  // Also with tests at another date, files have the time of this host.
  const clock = createFakeClock(performance.timeOrigin + performance.now())
  const sizes: number[] = []
  sink = bench.sink({}, { clock })
  await ledger.ship(sink, buildEvents(1, 'a'))
  for (const count of [2, 9, 3]) {
    const opened = await ledger.open(sink)
    const [{ bytes }] = (await opened.deliver(buildEvents(count, 'b'), never())).committed as [CommittedPart]
    sizes.push(bytes - [...ledger.committed.values()][0]!.bytes)
    await sink.close()
    sink = bench.sink({}, { clock })
    await reopen()
  }
  expect((await aside()).map(({ length }) => length)).toEqual([Math.max(...sizes)])
  await sink.close()
  await clock.advance(13 * 86_400_000)
  sink = bench.sink({}, { clock })
  await reopen()
  expect(await aside()).toHaveLength(1)
  await sink.close()
  await clock.advance(2 * 86_400_000)
  sink = bench.sink({}, { clock })
  await reopen()
  expect(await aside()).toEqual([])
})

it('cuts nothing if the stream was taken over while this pump was suspended', async () => {
  const restore = backup()
  await ledger.ship(sink, buildEvents(3, 'newer'))
  restore()
  ledger.confirm = () => Promise.reject(new Failure('cancelled', 'fence_lost', 'another pump has the stream'))
  await expect(ledger.open(sink)).rejects.toMatchObject({ code: 'fence_lost' })
  expect(await bench.ids()).toHaveLength(3)
})

it('does not report an empty part that a writer left before its first line', async () => {
  await ledger.ship(sink, buildEvents(1, 'a'))
  const empty = part().replace(/0001-/, '0002-')
  await writeFile(empty, '')
  expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
  await appendFile(empty, 'x')
  expect(await compareParts(bench.path, ledger.stream, ledger.known())).toMatchObject([
    { problem: 'unknown' },
  ])
  await reopen()
  expect(await bench.files()).toHaveLength(1)
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
  const differences = await compareParts(bench.path, ledger.stream, ledger.known())
  expect(differences).toMatchObject([{ problem: 'short', expectedBytes: committedPart!.bytes }])
})

it('reports once that a part is gone, and never reuses its name', async () => {
  await ledger.ship(sink, buildEvents(1, 'a'))
  await rm(part())
  await ledger.ship(sink, buildEvents(1, 'b'))
  await reopen()
  expect(bench.named('FileShort')).toMatchObject([{ found: 0 }])
  expect(ledger.committed.size).toBe(2)
  expect(await compareParts(bench.path, ledger.stream, ledger.known())).toMatchObject([
    { problem: 'missing' },
  ])
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
  ledger.commit((await opened.deliver(buildEvents(2, 'a'), never())).committed)
  await change(part())
  ledger.commit((await opened.deliver(buildEvents(2, 'b'), never())).committed)
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

it('does not change the parts of a lost store, reports them once and writes new ones', async () => {
  await ledger.ship(sink, buildEvents(2, 'a'))
  const before = await readFile(part())
  const path = part()
  const renewed = new StreamLedger(ledger.stream, 'store-2')
  await renewed.ship(sink, buildEvents(2, 'a'))
  await renewed.ship(sink, buildEvents(1, 'b'))
  expect(await readFile(path)).toEqual(before)
  expect((await bench.ids()).sort()).toEqual(['a-0', 'a-0', 'a-1', 'a-1', 'b-0'])
  expect(bench.named('PartsOfAnotherStore')).toMatchObject([{ why: expect.stringContaining('store') }])
  expect(await compareParts(bench.path, renewed.stream, renewed.known())).toMatchObject([
    { problem: 'foreign' },
  ])
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
  const copy = `zone=${zone}.day=${day}.${known!.part}.from-${known!.bytes}`
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
  ledger.commit((await opened.deliver(buildEvents(1, 'b'), never())).committed)
  await opened.close()
  expect(await bench.files()).toHaveLength(2)
  expect(await bench.ids()).toEqual(['a-0', 'a-1', 'b-0'])
  expect(ledger.lost).toEqual([])
  // They are no difference, but an archive would be shipped to them twice.
  const known = { ...ledger.known(false), knownSinceMs: Infinity }
  expect(await compareParts(bench.path, ledger.stream, known)).toEqual([])
  expect(await sink.hasUncommitted(ledger.stream, known)).toBe(false)
  expect(await sink.hasDropped(ledger.stream, known)).toBe(true)
  ledger.knownSinceMs = 0
  expect(await sink.hasDropped(ledger.stream, ledger.known(false))).toBe(false)
})
