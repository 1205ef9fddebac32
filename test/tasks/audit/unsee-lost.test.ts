import { expect, test } from 'vitest'
import type { CommittedPart } from '../../../src/domain/event/delivery.ts'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { nextDue } from '../../../src/domain/plan/due.ts'
import type { FilesLooked } from '../../../src/tasks/audit/audit-files.ts'
import { FoundEvents } from '../../../src/days/found-events.ts'
import { unseeLost } from '../../../src/days/unsee.ts'
import { stream } from '../../domain/builders.ts'
import { createStage, eventAt, listingOf, zone, type Stage } from '../../pump/stage.ts'

const never = () => new AbortController().signal
const events = [1, 2, 3, 4].map((number) => eventAt(number))

/** A shipped day whose part is said to have lost events. */
async function shipped() {
  const stage = await createStage()
  let bytes = 0
  stage.script.answer = listingOf(events, 2)
  stage.script.deliver = async (some) => {
    bytes += some.length
    const committed: CommittedPart[] = [{ writer: 'w', part: 'p', bytes, lines: bytes }]
    return { refusals: [], committed, bytes: some.length }
  }
  await stage.pump()
  stage.delivered.length = 0
  return stage
}

async function looked(stage: Stage, lost: readonly number[]): Promise<FilesLooked> {
  const checkpoint = (await stage.read()) as Checkpoint
  const report = { parts: [], ...stream } as unknown as FilesLooked['report']
  return { checkpoint, report, lost: lost.map((index) => events[index]!), unknown: [], ends: new Map() }
}

function listed(some = events): FoundEvents {
  const listing = new FoundEvents()
  for (const event of some) listing.add(event)
  return listing
}

const repair = (stage: Stage, what: FilesLooked, listing = listed(), id = 'two') =>
  unseeLost(
    { stream, zone, looked: what, listing },
    { ...stage.deps, holder: { id, schedule: false } },
    never(),
  )

const rescan = (stage: Stage) =>
  stage.pump({ priority: 'backfill', readRequest: { id: `r${Math.random()}` } })
const ids = (stage: Stage) => stage.delivered.map(({ id }) => id).sort()

test.each(['open', 'complete'])(
  'events of an %s day without a line count as not delivered, and the next poll delivers them',
  async (was) => {
    const stage = await shipped()
    if (was === 'complete') await stage.complete()
    expect(await repair(stage, await looked(stage, [1, 3]))).toEqual({ unseen: 2, kept: 0 })
    const checkpoint = await stage.read()
    expect([checkpoint?.ended, checkpoint?.counters.delivered, ids(stage)]).toEqual([undefined, 2, []])
    expect(nextDue({ stream, checkpoint }, stage.clock.now(), stage.deps.policy).kind).toBe('full')
    await stage.pump()
    expect(ids(stage)).toEqual(['e2', 'e4'])
    expect(await stage.read()).toMatchObject({ listed: 4, needsFull: false, counters: { delivered: 4 } })
  },
)

test('a day whose deduplication index was dropped is not corrected, since a scan would deliver all of it again', async () => {
  const stage = await shipped()
  await stage.complete()
  await stage.store.upkeep.dropIndex(stream)
  const before = await stage.read()
  expect(await repair(stage, await looked(stage, [1, 3]))).toEqual({ unseen: 0, kept: 0 })
  expect(await stage.read()).toEqual(before)
  await rescan(stage)
  expect(ids(stage)).toEqual([])
})

test('two parallel repairs never write a line twice', async () => {
  const stage = await shipped()
  const what = await looked(stage, [0, 1, 2, 3])
  const both = await Promise.allSettled(['two', 'three'].map((id) => repair(stage, what, listed(), id)))
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await rescan(stage)
  // Nor does a later one that has not looked again.
  await expect(repair(stage, what)).rejects.toThrow('run the audit again')
  await rescan(stage)
  expect(ids(stage)).toEqual(['e1', 'e2', 'e3', 'e4'])
})

test('events that the API no longer lists stay in the ledger, since nothing could deliver them again', async () => {
  const stage = await shipped()
  expect(await repair(stage, await looked(stage, [0, 1]), listed(events.slice(1)))).toEqual({
    unseen: 1,
    kept: 0,
  })
  await rescan(stage)
  expect(ids(stage)).toEqual(['e2'])
})

test('lines that the ledger lacks are added as delivered, and not delivered again', async () => {
  const stage = await shipped()
  const more = eventAt(9)
  const what = { ...(await looked(stage, [])), unknown: [more, events[0]!] }
  // A line that is no event of the API stays unknown.
  expect(await repair(stage, what)).toEqual({ unseen: 0, kept: 0 })
  expect(await repair(stage, what, listed([...events, more]))).toEqual({ unseen: 0, kept: 1 })
  stage.script.answer = listingOf([...events, more], 2)
  await rescan(stage)
  expect(ids(stage)).toEqual([])
})

test('a page that was shipped since needs no new comparison', async () => {
  const stage = await shipped()
  const what = await looked(stage, [0])
  stage.script.answer = listingOf([...events, eventAt(5)], 3)
  await stage.clock.sleep(3_600_000, never())
  await stage.pump()
  expect(await repair(stage, what)).toEqual({ unseen: 1, kept: 0 })
  await rescan(stage)
  expect(ids(stage)).toEqual(['e1', 'e5'])
})
