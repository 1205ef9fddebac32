import {
  appendFileSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  afterAgainPage,
  beginAgain,
  dropAgain,
  endAgain,
  inPhase,
  placementOf,
} from '../../../src/domain/again.ts'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { newCheckpoint } from '../../../src/domain/progress.ts'
import { mergeReceipts } from '../../../src/domain/receipts.ts'
import { noTrust } from '../../../src/domain/trust.ts'
import type { OpenStream, Sink } from '../../../src/ports.ts'
import { buildEvents, never, streamOf } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
let sink: Sink
let held: Checkpoint
let confirm: () => Promise<void>

beforeEach(async () => {
  bench = await createWorkbench()
  sink = bench.sink()
  held = newCheckpoint(streamOf(sink, 101), 0, noTrust)
  confirm = () => Promise.resolve()
})
afterEach(() => bench.dispose())

/** Under the fence, with what the checkpoint says of the parts. */
function open(by = sink, readable = true): Promise<OpenStream> {
  const options = { storeId: 'store-1', ...placementOf(held), readable, confirm }
  return by.open(held.stream, options, never())
}

async function shut(by = sink): Promise<void> {
  await (await open(by)).close()
}

async function ship(prefix: string, count = 2, by = sink): Promise<void> {
  const opened = await open(by)
  const { receipts } = await opened.deliver(buildEvents(count, prefix), never())
  held = { ...held, receipts: mergeReceipts(held.receipts, receipts) }
  await opened.close()
}

async function shipAgain(prefix: string, count = 2, by = sink): Promise<void> {
  const opened = await open(by)
  const { receipts } = await opened.staging!.deliver(buildEvents(count, prefix), never())
  held = afterAgainPage(held, { events: count, receipts })
  await opened.close()
}

function below(name: string): string[] {
  const path = join(bench.path, '.shieldlog', name)
  return existsSync(path) ? globSync('**/*.ndjson*', { cwd: path }).map((part) => basename(part)) : []
}

/** A day of two events that was shipped once more, up to the decision that the new parts take the place of the old. */
async function decided(): Promise<{ readonly old: string; readonly before: Checkpoint }> {
  await ship('a')
  const [old] = await bench.files()
  held = beginAgain(held, 'w1')
  await shipAgain('a')
  const before = held
  held = inPhase(held, 'moving')
  return { old: old!, before }
}

it('writes out of sight, and what is new in the meantime into a part of its own', async () => {
  await ship('a')
  const [old] = await bench.files()
  held = beginAgain(held, 'w1')
  await shipAgain('a')
  await ship('new')
  await shipAgain('b')
  expect(await bench.ids()).toEqual(['a-0', 'a-1', 'new-0', 'new-1'])
  const numbers = [...(await bench.files()), ...below('again')].map((part) => part.slice(0, 4))
  expect(numbers).toEqual(['0001', '0003', '0002'])
  held = inPhase(held, 'moving')
  await shut()
  held = endAgain(held)
  await shut()
  expect((await bench.ids()).sort()).toEqual(['a-0', 'a-1', 'b-0', 'b-1', 'new-0', 'new-1'])
  expect([below('again'), below('replaced')]).toEqual([[], [old]])
})

it('goes on with a move that stopped anywhere, as often as it is asked', async () => {
  const { old } = await decided()
  const [staged] = below('again')
  // As after a crash between the two renames.
  const folder = bench.folder()
  renameSync(join(bench.path, '.shieldlog', 'again', ...tail(folder), staged!), join(folder, staged!))
  expect(await bench.ids()).toHaveLength(4)
  await shut()
  await shut()
  expect(await bench.files()).toEqual([staged])
  expect(below('replaced')).toEqual([old])
  held = endAgain(held)
  await ship('c')
  // The part that took its place is continued.
  expect(await bench.files()).toEqual([staged])
  expect(await bench.ids()).toEqual(['a-0', 'a-1', 'c-0', 'c-1'])
})

it('takes a move back that the store has lost, and makes it again', async () => {
  const { old, before } = await decided()
  const [staged] = below('again')
  await shut()
  held = before
  await shut()
  expect(await bench.files()).toEqual([old])
  expect([below('again'), below('replaced')]).toEqual([[staged], []])
  await shipAgain('b')
  held = inPhase(held, 'moving')
  await shut()
  held = endAgain(held)
  expect(await bench.ids()).toEqual(['a-0', 'a-1', 'b-0', 'b-1'])
})

it('brings the old parts back for an older copy of the store, which is told of more than its receipts', async () => {
  await ship('a')
  const copy = held
  held = beginAgain(held, 'w1')
  await shipAgain('a')
  held = inPhase(held, 'moving')
  await shut()
  held = copy
  const known = { storeId: 'store-1', receipts: held.receipts }
  expect(await sink.holdsMore!(held.stream, known)).toBe(true)
  await shut()
  expect(await bench.ids()).toEqual(['a-0', 'a-1'])
  expect(await sink.holdsMore!(held.stream, known)).toBe(false)
})

it('moves nothing once another pump has the stream', async () => {
  const { old } = await decided()
  confirm = () => Promise.reject(new Failure('cancelled', 'fence_lost', 'gone'))
  await expect(open()).rejects.toMatchObject({ code: 'fence_lost' })
  expect(await bench.files()).toEqual([old])
  expect(below('again')).toHaveLength(1)
})

it('puts what gave way aside again where its writer brought it back, compressed', async () => {
  const { old } = await decided()
  await shut()
  held = endAgain(held)
  copyFileSync(
    join(bench.path, '.shieldlog', 'replaced', ...tail(bench.folder()), old),
    join(bench.folder(), `${old}.gz`),
  )
  expect(await sink.holdsMore!(held.stream, { storeId: 'store-1', receipts: held.receipts })).toBe(true)
  await shut()
  expect(await bench.files()).not.toContain(`${old}.gz`)
  expect(below('replaced').sort()).toEqual([old, `${old}.gz`])
  expect(await bench.ids()).toEqual(['a-0', 'a-1'])
})

it('cuts what was not committed of what waits, also of a day that is over', async () => {
  await ship('a')
  held = beginAgain(held, 'w1')
  await shipAgain('a')
  const opened = await open()
  await opened.staging!.deliver(buildEvents(3, 'lost'), never())
  await opened.close()
  const again = await open(sink, false)
  expect(again.adopted).toBeUndefined()
  expect(again.staging?.isWhole).toBe(true)
  await again.close()
  held = inPhase(held, 'moving')
  await shut()
  expect(await bench.ids()).toEqual(['a-0', 'a-1'])
})

it('says when what waits is no longer whole, and discards it', async () => {
  await ship('a')
  held = beginAgain(held, 'w1')
  await shipAgain('a')
  rmSync(join(bench.path, '.shieldlog', 'again'), { recursive: true })
  const opened = await open()
  expect(opened.staging?.isWhole).toBe(false)
  await opened.staging!.deliver(buildEvents(1, 'more'), never())
  await opened.staging!.discard()
  await opened.close()
  expect(below('again')).toEqual([])
  expect(await bench.ids()).toEqual(['a-0', 'a-1'])
})

it('clears what waits for nobody any more, but not what another store wrote', async () => {
  await ship('a')
  held = beginAgain(held, 'w1')
  await shipAgain('a')
  const folder = join(bench.path, '.shieldlog', 'again', ...tail(bench.folder()))
  const strange = '0009-20251120T120000Z-0123456789.ndjson'
  appendFileSync(join(folder, strange), '{"id":"theirs"}\n')
  held = dropAgain(held)
  await shut()
  expect(below('again')).toEqual([strange])
  expect(await bench.ids()).toEqual(['a-0', 'a-1'])
})

it('moves the parts of a live writer too, which then goes on in a part of its own', async () => {
  const other = bench.sink()
  await ship('own')
  const theirs = await open(other)
  const first = await theirs.deliver(buildEvents(2, 'theirs'), never())
  held = { ...held, receipts: mergeReceipts(held.receipts, first.receipts) }
  const old = await bench.files()
  expect(old).toHaveLength(2)
  held = beginAgain(held, 'w1')
  await shipAgain('own')
  await shipAgain('theirs')
  held = inPhase(held, 'moving')
  await shut()
  held = endAgain(held)
  // It slept meanwhile and does not know that it lost the stream: nothing of it is committed.
  await theirs.deliver(buildEvents(2, 'late'), never()).catch(() => undefined)
  await theirs.close()
  await other.close()
  await shut()
  expect((await bench.ids()).sort()).toEqual(['own-0', 'own-1', 'theirs-0', 'theirs-1'])
  expect(below('replaced').sort()).toEqual(old.sort())
})

it('is told of parts that wait here for their place while another host made the move', async () => {
  const elsewhere = await createWorkbench()
  try {
    await ship('a')
    held = beginAgain(held, 'w1')
    const other = elsewhere.sink()
    await shipAgain('a', 2, other)
    held = inPhase(held, 'moving')
    await shut()
    held = endAgain(held)
    const known = { storeId: 'store-1', receipts: held.receipts }
    expect(await other.holdsMore!(held.stream, known)).toBe(true)
    await shut(other)
    expect(await elsewhere.ids()).toEqual(['a-0', 'a-1'])
    expect(await other.holdsMore!(held.stream, known)).toBe(false)
  } finally {
    await elsewhere.dispose()
  }
})

it('is not asked for again and again where a part is gone for good', async () => {
  await decided()
  await shut()
  held = endAgain(held)
  rmSync(join(bench.folder(), (await bench.files())[0]!))
  expect(await sink.holdsMore!(held.stream, { storeId: 'store-1', receipts: held.receipts })).toBe(false)
})

it('refuses a link in the place of its folders', async () => {
  const { old } = await decided()
  const elsewhere = join(bench.path, '..', 'elsewhere')
  mkdirSync(elsewhere)
  const own = join(bench.path, '.shieldlog')
  symlinkSync(elsewhere, join(own, 'replaced'))
  await expect(open()).rejects.toMatchObject({ code: 'unwritable', kind: 'stop' })
  expect(await bench.files()).toContain(old)
  expect(globSync('**/*', { cwd: elsewhere })).toEqual([])
})

/** `zone=…`, `day=…`. */
function tail(folder: string): [string, string] {
  return [basename(dirname(folder)), basename(folder)]
}
