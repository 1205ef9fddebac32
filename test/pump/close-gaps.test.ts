import { expect, test } from 'vitest'
import { dayMs } from '../../src/domain/day.ts'
import type { Gap } from '../../src/domain/stream.ts'
import type { Commit } from '../../src/ports/store.ts'
import { at, hourMs, buildRecord, buildScan, cursorAt, stream } from '../domain/builders.ts'
import { createStage, firstEvents, listingOf, type PageAnswer, type Stage } from './stage.ts'

const events = firstEvents(4)
const gap: Gap = { ...stream, from: at(0), to: at(24), reason: 'not_running', recordedAt: at(30) }
const request = { priority: 'backfill', readRequest: { id: 'r1' } } as const

/** A day that is over, and gaps of it. */
async function withGaps(gaps: readonly Gap[], hours = 49): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.store.catalogue.addGaps(gaps)
  await stage.clock.advance(at(hours) - stage.clock.now())
  // An answer tells the time: from then on it is sure.
  stage.apiClock.learn('default', 0, {})
  return stage
}

const gapsOf = ({ store }: Stage) => store.catalogue.gaps()
const closed = (stage: Stage) =>
  stage.internalEvents.flatMap((each) => (each.name === 'GapClosed' ? [each.gap] : []))

test('the commit of a complete full scan that began after a gap closes it, also one that is acknowledged, and tells it', async () => {
  const acknowledged = { ...gap, from: at(1), acknowledgedAt: at(31) }
  const stage = await withGaps([gap, acknowledged])
  let commit: Commit | undefined
  const { commit: send } = stage.script
  stage.script.commit = async (each) => {
    if (each.gaps.length > 0) commit = each
    return send(each)
  }
  await stage.pump(request)
  const readAt = (await stage.read())!.lastCommitAtMs
  expect(await gapsOf(stage)).toEqual([
    { ...gap, readAt },
    { ...acknowledged, readAt },
  ])
  expect(closed(stage)).toHaveLength(2)
  expect(commit!.next.lastRequest).toMatchObject({ id: 'r1', outcome: 'done' })
  expect(commit!.next.commit).toBe((await stage.read())!.commit)
})

test('a gap of a zone that is back is closed by the first full scan after it, while the day is still open', async () => {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  await stage.pump()
  await stage.clock.advance(3_600_000)
  const { lastFull } = (await stage.read())!
  const here = { from: lastFull!.beganAtMs, to: stage.clock.now(), recordedAt: stage.clock.now() }
  await stage.store.catalogue.addGaps([{ ...gap, ...here, reason: 'zone_gone' }])
  await stage.clock.advance(60_000)
  await stage.pump()
  expect(closed(stage)).toMatchObject([{ reason: 'zone_gone' }])
})

interface Case {
  readonly what: string
  readonly own?: Partial<Gap>
  readonly hours?: number
  /** What happens before the day is read. */
  readonly before?: (stage: Stage) => void | Promise<void>
}

const cases: readonly Case[] = [
  { what: 'names copies of cut lines', own: { files: ['/aside/a'] } },
  { what: 'is of another sink', own: { sink: 'siem' } },
  { what: 'is of another day', own: { day: '2026-11-19' as Gap['day'] } },
  { what: 'ends after the scan began', hours: 23 },
  {
    what: 'is of a day of which the scan ended at a guard',
    before: ({ script }) => {
      script.answer = () => ({ events, more: true })
    },
  },
  {
    what: 'is of a day that the API lists in part only',
    before: async ({ pump, script }) => {
      await pump({ readRequest: { id: 'r0' } })
      script.answer = listingOf(events.slice(1), 2)
    },
  },
  {
    what: 'is of a day of which the API has removed events for good',
    before: ({ change }) => change((held) => ({ ...held, gone: 1, listed: 1 })),
  },
  {
    what: 'is read while an answer contradicts the time of the others',
    before: ({ script }) => {
      const list = listingOf(events, 2)
      const connection = {}
      script.answer = (...asked) => {
        const page = list(...asked) as PageAnswer
        return { ...page, clockOffsetMs: 10 * dayMs, connection }
      }
    },
  },
  {
    what: 'has not ended by the wall clock of this host, which is behind',
    before: ({ clock }) => clock.jump(-30 * hourMs),
  },
  {
    what: 'a scan meets whose beginning was written by a clock that ran ahead',
    own: { to: at(5) },
    hours: 10,
    before: ({ change }) =>
      change((held) => ({
        ...held,
        lastFull: buildRecord({ beganAtMs: at(1) }),
        full: buildScan({ beganAtMs: at(60), readRequest: 'r1', pages: 1, cursor: cursorAt('2') }),
      })),
  },
]

test.each(cases)('a gap stays that $what', async ({ own, hours, before }) => {
  const stage = await withGaps([], hours)
  await before?.(stage)
  const added = { ...gap, ...own }
  await stage.store.catalogue.addGaps([added])
  await stage.pump(request)
  expect([await gapsOf(stage), closed(stage)]).toEqual([[added], []])
})

test('an archive closes no gap, and a poll of new events none', async () => {
  const early = { ...gap, to: at(3) }
  const stage = await withGaps([early], 4)
  await stage.pump({ ...request, readRequest: { id: 'r1', source: 'archive' } })
  expect((await stage.read())!.lastRequest).toMatchObject({ id: 'r1', outcome: 'done' })
  await stage.change((held) => ({
    ...held,
    ordering: { order: 'newest-first', cursorProven: true, revocations: 0 },
    lastFull: buildRecord({ beganAtMs: at(2), pages: 50 }),
  }))
  await stage.pump()
  expect((await stage.read())!.lastIncremental).toBeDefined()
  expect(await gapsOf(stage)).toEqual([early])
})

test('a day that is lost again after it was read has a gap again', async () => {
  const stage = await withGaps([gap])
  await stage.pump(request)
  await stage.store.catalogue.addGaps([{ ...gap, recordedAt: at(60) }])
  expect(await gapsOf(stage)).toEqual([{ ...gap, recordedAt: at(60) }])
})
