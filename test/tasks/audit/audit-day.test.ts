import { expect, test } from 'vitest'
import { startOf } from '../../../src/domain/day.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { newCheckpoint } from '../../../src/domain/checkpoint.ts'
import { minuteOf, packFingerprints } from '../../../src/domain/event/seen.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { detailBudget } from '../../../src/tasks/audit/result.ts'
import { auditDay, type DayDeps } from '../../../src/tasks/audit/audit-day.ts'
import { policy } from '../../domain/builders.ts'
import { openMemoryStore } from '../../setup/stores.ts'
import { day, eventOf, listing, never, zone } from './listing.ts'

const stream = { zone: zone.id, day, sink: 'archive' }

/** A listing of so many pages, and a stream that has shipped some of its events. */
async function setUp(pages: number, failures: Readonly<Record<number, Failure>> = {}) {
  const { deps, clock, requests } = listing(pages, failures)
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1000 })
  return {
    clock,
    store,
    requests,
    /** Commits events by number, and how far the stream is caught up. */
    async ship(numbers: readonly number[], caughtUpAtMs: number): Promise<void> {
      const { fence, checkpoint = newCheckpoint(stream, startOf(day), unknownOrdering) } =
        await store.ledger.take(stream, { id: 'test', schedule: false })
      const fingerprints = numbers.map((number) => eventOf(number).fingerprint)
      const seen = new Map([[minuteOf(eventOf(0).timeMs), packFingerprints(fingerprints)]])
      const next = { ...checkpoint, commit: checkpoint.commit + 1, caughtUpAtMs }
      await store.ledger.commit({ fence, basedOn: checkpoint.commit, next, seen, deadLetters: [], gaps: [] })
    },
    async audit(isShipping: DayDeps['isShipping'] = async () => false, more: Partial<DayDeps> = {}) {
      const own = { ...deps, store, policy, isShipping, ...more }
      return (await auditDay({ zone, day, sinks: ['archive'] }, new Map(), own, never)).streams[0]!.audit
    },
  }
}

test('starts a scan again a few times if its cursor expired', async () => {
  const expired = new Failure('refuse', 'cursor_expired', 'expired')
  const { audit, requests } = await setUp(3, { 2: expired, 4: expired })
  const report = await audit()
  expect(report).toMatchObject({
    listed: 6,
    ledger: 0,
    missing: 6,
    extra: 0,
    isEqual: false,
    isByCounts: false,
  })
  const ids = [0, 1, 2, 3, 4, 5].map((each) => `event-${each}`)
  expect(report.missingEvents.map(({ id }) => id).sort()).toEqual(ids)
  expect(requests()).toBe(7)
  const always = await setUp(3, Object.fromEntries([2, 4, 6, 8, 10].map((each) => [each, expired])))
  await expect(always.audit()).rejects.toBe(expired)
})

test('what lies within the overlap of a running process is not delivered yet', async () => {
  const { clock, ship, audit } = await setUp(2)
  await ship([0, 1, 2], clock.now() - 60_000)
  expect(await audit(async () => true)).toMatchObject({ missing: 0, notYetDue: 1, isEqual: true })
  expect(await audit(async () => false)).toMatchObject({ missing: 1, missingEvents: [{ id: 'event-3' }] })
  await ship([], clock.now() + policy.overlapMs)
  expect(await audit(async () => true)).toMatchObject({ missing: 1, notYetDue: 0, isEqual: false })
})

test('distinguishes not yet delivered from missing by the time of the event', async () => {
  const { ship, audit } = await setUp(2)
  await ship([0], Date.parse(eventOf(1).time!))
  const counts = { ledger: 1, missing: 1, notYetDue: 2, extra: 0 }
  expect(await audit()).toMatchObject({
    ...counts,
    listed: 4,
    isEqual: false,
    minutes: [{ minute: '2026-11-20T11:55:00.000Z', listed: 4, ...counts }],
    caughtUpAt: eventOf(1).time,
  })
})

test('what a running process is about to read for the first time is not delivered yet, without a checkpoint too', async () => {
  const { store, audit } = await setUp(2)
  const audited = (isRunning: boolean) => audit(async () => isRunning)
  // No run has planned this route, so nothing is about to ship it.
  expect(await audited(true)).toMatchObject({ missing: 4, notYetDue: 0 })
  await store.catalogue.rememberRoutes([{ zone: zone.id, sink: 'archive', firstDay: day, plannedAtMs: 0 }])
  expect(await audited(true)).toMatchObject({ missing: 0, notYetDue: 4, isEqual: true })
  expect(await audited(false)).toMatchObject({ missing: 4, notYetDue: 0, isEqual: false })
})

test('what a running process is about to read of a past day is not delivered yet', async () => {
  const { clock, ship, audit } = await setUp(2)
  await ship([0], Date.parse(eventOf(1).time!))
  const tomorrow = { ...listing(2).deps.apiClock, now: () => clock.now() + 86_400_000 }
  expect(await audit(async () => true, { apiClock: tomorrow })).toMatchObject({ missing: 0, notYetDue: 3 })
  expect(await audit(async () => false, { apiClock: tomorrow })).toMatchObject({ missing: 3, notYetDue: 0 })
})

test('so many comparisons name all minutes and events, the others only the first, with a mark', async () => {
  const one = await (await setUp(2)).audit()
  const shorten = detailBudget(1)
  const missingEvents = Array.from({ length: 100 }, (_, index) => ({ id: String(index) }))
  const minutes = missingEvents.map(() => one.minutes[0]!)
  const found = [1, 2].map(() => {
    const { stream: cut } = shorten({ ...stream, name: '', stream: { ...one, minutes, missingEvents } })
    return [cut!.missing, cut!.isShortened, cut!.minutes.length, cut!.missingEvents.length]
  })
  expect(found).toEqual([
    [4, undefined, 100, 100],
    [4, true, 20, 20],
  ])
})
