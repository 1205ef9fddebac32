import { appendFile, mkdir, readdir, readFile, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Stream } from '../../../src/domain/stream.ts'
import type { TransactionalSink } from '../../../src/ports/delivery.ts'
import { compareParts } from '../../../src/sinks/file/compare-parts.ts'
import { readArchive } from '../../../src/sinks/file/read.ts'
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

/** One committed line in a part, and others in it that were never committed. */
async function leave(uncommitted: string): Promise<void> {
  await ledger.ship(sink, buildEvents(1, 'a'))
  await appendFile(join(bench.folder(), [...ledger.committed.keys()][0]!), uncommitted)
}

async function reopen(): Promise<void> {
  await (await ledger.open(sink, false)).close()
}

/** What a backfill reads of the copy for a stream. */
async function linesOf(stream: Stream): Promise<string[]> {
  const lines: string[] = []
  for await (const piece of readArchive(ledger.lost[0]!, stream))
    if ('lines' in piece) lines.push(...piece.lines)
  return lines
}

const aside = () => join(bench.path, '.shieldlog', 'aside')

it('names the copy of whole lines before it cuts them', async () => {
  await leave('{"id":"b-0"}\n{"id":"torn')
  let before: string[] = []
  ledger.onLost = async () => void (before = await bench.files())
  await reopen()
  expect(ledger.lost).toHaveLength(1)
  expect(await readFile(ledger.lost[0]!, 'utf8')).toBe('{"id":"b-0"}\n{"id":"torn')
  expect(before).toHaveLength(1)
  expect(await linesOf(ledger.stream)).toEqual(['{"id":"b-0"}'])
  expect(await linesOf({ ...ledger.stream, zone: 102 })).toEqual([])
  expect(await bench.ids()).toEqual(['a-0'])
  await reopen()
  expect(ledger.lost).toHaveLength(1)
})

it('names no copy for a torn line: its event was never whole', async () => {
  await leave('{"id":"torn')
  await reopen()
  expect(ledger.lost).toEqual([])
  expect(await bench.ids()).toEqual(['a-0'])
})

it('cuts nothing while it cannot keep a copy', async () => {
  await leave('{"id":"b-0"}\n')
  const [known] = ledger.committed.values()
  const { zone, day } = ledger.stream
  const copy = `zone=${zone}.day=${day}.${known!.part}.from-${known!.bytes}`
  const inTheWay = join(aside(), `${copy}.unfinished`)
  await mkdir(inTheWay, { recursive: true })
  await expect(ledger.open(sink, false)).rejects.toMatchObject({ code: 'unwritable' })
  expect(await bench.openFiles()).toBe(0)
  expect(await bench.ids()).toEqual(['a-0', 'b-0'])
  await rmdir(inTheWay)
  await reopen()
  expect(await readdir(aside())).toEqual([copy])
})

it('leaves parts as they are whose lengths the store has dropped, and writes beside them', async () => {
  await ledger.ship(sink, buildEvents(2, 'a'))
  ledger.committed.clear()
  ledger.knownSinceMs = Infinity
  await reopen()
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
