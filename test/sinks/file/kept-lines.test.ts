import { appendFile, mkdir, open, readFile, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { TransactionalSink } from '../../../src/ports/delivery.ts'
import { compareParts } from '../../../src/sinks/file/compare-parts.ts'
import { buildEvents, contractFormat, never, streamOf, StreamLedger } from './samples.ts'
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

function part(): string {
  return join(bench.folder(), [...ledger.committed.keys()][0]!)
}

async function reopen(readable = true): Promise<void> {
  await (await ledger.open(sink, readable)).close()
}

it('keeps the whole lines of a day that can no longer be read, and cuts only an incomplete one', async () => {
  await ledger.ship(sink, buildEvents(1, 'a'))
  const opened = await ledger.open(sink)
  await opened.deliver(buildEvents(3, 'b'), never())
  await opened.close()
  await appendFile(part(), 'no line of this format\n{"id":"torn')
  const late = await ledger.open(sink, false)
  expect(ledger.kept).toEqual([['b-0', 'b-1', 'b-2']])
  expect([...ledger.committed.values()]).toMatchObject([{ lines: 5 }])
  ledger.commit((await late.deliver(buildEvents(1, 'c'), never())).committed)
  await late.close()
  expect((await readFile(part(), 'utf8')).split('\n')).toHaveLength(7)
  expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
  await reopen(false)
  expect(ledger.kept).toHaveLength(1)
})

it('keeps a whole part without committed length on such a day', async () => {
  const opened = await ledger.open(sink)
  await opened.deliver(buildEvents(2, 'a'), never())
  await opened.close()
  await reopen(false)
  expect([...ledger.committed.values()]).toMatchObject([{ lines: 2 }])
  expect(await bench.ids()).toEqual(['a-0', 'a-1'])
})

it('keeps of such a day only the lines whose events no other part has, in a new part', async () => {
  await ledger.ship(sink, buildEvents(1, 'a'))
  const opened = await ledger.open(sink)
  await opened.deliver(buildEvents(3, 'b'), never())
  await opened.close()
  await appendFile(part(), 'no line of this format\n{"id":"torn')
  ledger.shipped.add('b-0').add('b-2')
  const late = await ledger.open(sink, false)
  expect(ledger.kept).toEqual([['b-1']])
  expect(await linesByPart()).toEqual([['a-0'], ['b-1', 'no line of this format']])
  expect([...ledger.committed.values()]).toMatchObject([{ lines: 1 }, { lines: 2 }])
  expect(bench.named('FileCut')).toMatchObject([{ keptAside: true }])
  ledger.commit((await late.deliver(buildEvents(1, 'c'), never())).committed)
  await late.close()
  expect(await linesByPart()).toEqual([['a-0'], ['b-1', 'no line of this format', 'c-0']])
  await reopen(false)
  expect(ledger.kept).toHaveLength(1)
  expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
})

it('cuts lines of such a day if other parts have all of their events', async () => {
  await ledger.ship(sink, buildEvents(1, 'a'))
  const opened = await ledger.open(sink)
  await opened.deliver(buildEvents(3, 'b'), never())
  await opened.close()
  for (const { id } of buildEvents(3, 'b')) ledger.shipped.add(id)
  await reopen(false)
  expect(ledger.kept).toEqual([])
  expect(await bench.ids()).toEqual(['a-0'])
})

/** What each part holds: ids, or lines that the format cannot read back. */
async function linesByPart(): Promise<string[][]> {
  const names = await bench.files()
  const texts = await Promise.all(names.map((name) => readFile(join(bench.folder(), name), 'utf8')))
  return texts.map((text) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => contractFormat.identify(line)?.id ?? line),
  )
}

/** A part with one committed line and two others: another part has the event of one of them. */
async function leaveTwo(shipped: string): Promise<void> {
  await ledger.ship(sink, buildEvents(1, 'a'))
  const opened = await ledger.open(sink)
  await opened.deliver(buildEvents(2, 'b'), never())
  await opened.close()
  ledger.shipped.add(shipped)
  await sink.close()
}

it('leaves no part behind at each try on a full disk', async () => {
  await leaveTwo('b-0')
  let isFull = true
  sink = bench.sink(
    {},
    {
      openFile: async (...args) => {
        const handle = await open(...args)
        const write = handle.write.bind(handle)
        const writeFull = async (bytes: Buffer, offset: number, length: number) => {
          if (!isFull) return await write(bytes, offset, length)
          await write(bytes, offset, 5)
          throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
        }
        return Object.assign(handle, { write: writeFull })
      },
    },
  )
  for (let tries = 0; tries < 3; tries++)
    await expect(ledger.open(sink, false)).rejects.toMatchObject({ code: 'disk_full' })
  expect(await bench.files()).toHaveLength(1)
  isFull = false
  await reopen(false)
  expect(await linesByPart()).toEqual([['a-0'], ['b-1']])
})

it('moves no line before it has a copy of what it cuts then', async () => {
  await leaveTwo('b-0')
  await appendFile(part(), 'no line of this format\n')
  const [known] = [...ledger.committed.values()]
  const { zone, day } = ledger.stream
  const copy = `zone=${zone}.day=${day}.${known!.part}.from-${known!.bytes}`
  const inTheWay = join(bench.path, '.shieldlog', 'aside', `${copy}.unfinished`)
  await mkdir(inTheWay, { recursive: true })
  sink = bench.sink()
  for (let tries = 0; tries < 3; tries++)
    await expect(ledger.open(sink, false)).rejects.toMatchObject({ code: 'unwritable' })
  expect(await bench.files()).toHaveLength(1)
  await rmdir(inTheWay)
  await reopen(false)
  expect(await linesByPart()).toEqual([['a-0'], ['b-1', 'no line of this format']])
})

/** Lines of about a megabyte that were never committed. */
async function leaveMany(): Promise<string[]> {
  const opened = await ledger.open(sink)
  const events = buildEvents(10_000, 'many')
  await opened.deliver(events, never())
  await opened.close()
  return events.map(({ id }) => id)
}

it('checks and keeps lines of such a day in bounded batches', async () => {
  const ids = await leaveMany()
  const lineBytes = Math.floor(
    (await readFile(join(bench.folder(), (await bench.files())[0]!))).length / 10_000,
  )
  const most = 262_144 / lineBytes + 100
  for (const id of ids.slice(0, 9000)) ledger.shipped.add(id)
  await reopen(false)
  expect(ledger.asked.length).toBeGreaterThan(2)
  expect(ledger.kept.flat()).toEqual(ids.slice(9000))
  expect(await bench.ids()).toEqual(ids.slice(9000))
  for (const batch of [...ledger.asked, ...ledger.kept]) expect(batch.length).toBeLessThan(most)
})

it.each([
  ['all of them are the last copies', 0, 2],
  ['some of them are', 5000, 1],
])(
  'continues after the last committed batch if the process was killed and %s',
  async (_, shipped, batches) => {
    const ids = await leaveMany()
    for (const id of ids.slice(0, shipped)) ledger.shipped.add(id)
    let left = batches
    ledger.beforeAdoption = () => (left-- > 0 ? Promise.resolve() : Promise.reject(new Error('died')))
    await expect(ledger.open(sink, false)).rejects.toThrow('died')
    expect(ledger.kept).toHaveLength(batches)
    ledger.beforeAdoption = () => Promise.resolve()
    await sink.close()
    sink = bench.sink()
    await reopen(false)
    expect(ledger.kept.flat()).toEqual(ids.slice(shipped))
    expect(await bench.ids()).toEqual(ids.slice(shipped))
    expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
  },
)
