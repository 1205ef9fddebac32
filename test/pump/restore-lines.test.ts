import { expect, it } from 'vitest'
import type { Receipt } from '../../src/domain/delivery.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import type { FilesLooked } from '../../src/pump/audit-files.ts'
import { settleStream } from '../../src/pump/pump-stream.ts'
import { restoreLines } from '../../src/pump/restore-lines.ts'
import { noTrust } from '../../src/domain/trust.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone, type Stage } from './stage.ts'

const never = () => new AbortController().signal
const events = [1, 2, 3, 4].map((number) => eventAt(number))

/** A shipped day whose part is said to have lost these events. */
async function shipped() {
  const stage = await createStage()
  let bytes = 0
  stage.script.answer = listingOf(events, 2)
  stage.script.deliver = async (some) => {
    bytes += some.length
    const receipts: Receipt[] = [{ writer: 'w', part: 'p', bytes, lines: bytes }]
    return { refusals: [], receipts, bytes: some.length }
  }
  await stage.pump()
  stage.delivered.length = 0
  return stage
}

async function looked(
  stage: Stage,
  absent: readonly number[],
  more: Partial<FilesLooked> = {},
): Promise<FilesLooked> {
  const checkpoint = (await stage.read()) as Checkpoint
  const report = { parts: [], ...stream } as unknown as FilesLooked['report']
  const lost = new Set(absent.map((index) => events[index]!.fingerprint))
  return { checkpoint, report, absent: lost, strange: new Set(), ends: new Map(), ...more }
}

const restore = (stage: Stage, what: FilesLooked, id = 'two') =>
  restoreLines(
    { stream, zone, sink: stage.sink, looked: what },
    { ...stage.deps, holder: { id, schedule: false } },
    never(),
  )

const ids = (stage: Stage) => stage.delivered.map(({ id }) => id)

it('two repairs that looked at the same time bring a line back once', async () => {
  const stage = await shipped()
  const [one, other] = [await looked(stage, [1, 3]), await looked(stage, [1, 3])]
  expect(await restore(stage, one)).toEqual({ restored: 2, adopted: 0 })
  await expect(restore(stage, other)).rejects.toThrow('run the audit again')
  expect(ids(stage)).toEqual(['e2', 'e4'])
})

it('two repairs side by side never bring one line back twice', async () => {
  const stage = await shipped()
  const what = await looked(stage, [0, 1, 2, 3])
  const both = await Promise.allSettled([restore(stage, what, 'two'), restore(stage, what, 'three')])
  expect(both.map(({ status }) => status)).toContain('rejected')
  const left = events.filter(({ id }) => !ids(stage).includes(id)).map((event) => events.indexOf(event))
  await restore(stage, await looked(stage, left))
  expect(ids(stage).sort()).toEqual(['e1', 'e2', 'e3', 'e4'])
})

it('a page that was shipped since is no reason to look again', async () => {
  const stage = await shipped()
  const what = await looked(stage, [0])
  stage.script.answer = listingOf([...events, eventAt(5)], 3)
  await stage.clock.sleep(3_600_000, never())
  await stage.pump()
  expect(await restore(stage, what)).toEqual({ restored: 1, adopted: 0 })
  expect(ids(stage)).toEqual(['e5', 'e1'])
})

it('lines that another process met and took in are not brought back', async () => {
  const stage = await shipped()
  const what = await looked(stage, [0])
  const receipt: Receipt = { writer: 'w', part: 'q', bytes: 1, lines: 1 }
  stage.script.open = async () => ({ adopted: { identities: [events[0]!], receipts: [receipt] } })
  const job = { stream, zone, sink: stage.sink, lane: 'live', trust: noTrust, mayGoOn: () => false } as const
  await settleStream(job, stage.deps, never())
  stage.script.open = async () => ({})
  await expect(restore(stage, what)).rejects.toThrow('run the audit again')
  expect(ids(stage)).toEqual([])
})

it('a part that ends within a line is not cut once more was committed to it', async () => {
  const stage = await shipped()
  const end = { part: 'p', wholeLines: 3, wholeBytes: 3, isTorn: true, isCompressed: false }
  const what = await looked(stage, [3], { ends: new Map([['p', end]]) })
  stage.script.answer = listingOf([...events, eventAt(5)], 3)
  await stage.clock.sleep(3_600_000, never())
  await stage.pump()
  await expect(restore(stage, what)).rejects.toThrow('run the audit again')
  expect((await stage.read())?.receipts).toMatchObject([{ part: 'p', bytes: 5 }])
})
