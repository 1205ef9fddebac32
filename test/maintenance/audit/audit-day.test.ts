import { describe, expect, onTestFinished, test } from 'vitest'
import { startOf } from '../../../src/domain/day.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { newCheckpoint } from '../../../src/domain/checkpoint.ts'
import { minuteOf, packFingerprints } from '../../../src/domain/event/seen.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import type { Store } from '../../../src/ports/store.ts'
import { auditDay } from '../../../src/maintenance/audit/audit-day.ts'
import { openMemoryStore } from '../../setup/stores.ts'
import { day, eventOf, listing, never, zone } from './listing.ts'

const policy = {
  everyMs: 30_000,
  readableDays: 3,
  firstRunDays: 3,
  overlapMs: 600_000,
  fullScanMs: 3_600_000,
  settleAfterMs: [1_800_000],
}

const job = { zone, day, sinks: [{ name: 'archive' }] }
const stream = { zone: zone.id, day, sink: 'archive' }

async function storeAt(clock: ReturnType<typeof listing>['clock']): Promise<Store> {
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1000 })
  onTestFinished(() => store.close())
  return store
}

/** Commits events by number, and how far the stream is caught up. */
async function ship(store: Store, numbers: readonly number[], caughtUpAtMs: number): Promise<void> {
  const { fence, checkpoint = newCheckpoint(stream, startOf(day), unknownOrdering) } =
    await store.ledger.take(stream, {
      id: 'test',
      schedule: false,
    })
  const fingerprints = numbers.map((number) => eventOf(number).fingerprint)
  const seen = new Map([[minuteOf(eventOf(0).timeMs), packFingerprints(fingerprints)]])
  const next = { ...checkpoint, commit: checkpoint.commit + 1, caughtUpAtMs }
  await store.ledger.commit({ fence, basedOn: checkpoint.commit, next, seen, deadLetters: [], gaps: [] })
}

test('starts a scan again a few times if its cursor expired', async () => {
  const expired = new Failure('refuse', 'cursor_expired', 'expired')
  const { deps, clock, requests } = listing(3, { 2: expired, 4: expired })
  const store = await storeAt(clock)
  const more = { store, policy, isShipping: async () => false }
  const [report] = (await auditDay(job, { ...deps, ...more }, never)).streams
  expect(report).toMatchObject({
    listed: 6,
    ledger: 0,
    missing: 6,
    extra: 0,
    isEqual: false,
    isByCounts: false,
  })
  expect(report!.missingEvents.map(({ id }) => id).sort()).toEqual(
    [0, 1, 2, 3, 4, 5].map((each) => `event-${each}`),
  )
  expect(requests()).toBe(7)
  const always = Object.fromEntries([2, 4, 6, 8, 10].map((each) => [each, expired]))
  const hopeless = auditDay(job, { ...listing(3, always).deps, ...more }, never)
  await expect(hopeless).rejects.toBe(expired)
})

test('compares again what a running process is about to ship', async () => {
  const { deps, clock } = listing(2)
  const store = await storeAt(clock)
  const caughtUpAtMs = clock.now() - 60_000
  await ship(store, [0, 1], caughtUpAtMs)
  let asked = 0
  const isShipping = async () => {
    // The process ships one more each time that somebody looks.
    asked++
    await ship(store, [1 + asked], caughtUpAtMs)
    return true
  }
  const [report] = (await auditDay(job, { ...deps, store, policy, isShipping }, never)).streams
  expect(report).toMatchObject({ listed: 4, ledger: 4, missing: 0, isEqual: true })
  expect(asked).toBe(2)
})

test('does not wait for events that a later scan did not find, nor for a process that hangs', async () => {
  for (const [aheadMs, most] of [
    [60_000, 0],
    [-60_000, 90],
  ] as const) {
    const { deps, clock } = listing(2)
    const store = await storeAt(clock)
    await ship(store, [0, 1, 2], clock.now() + aheadMs)
    const beganMs = clock.monotonic()
    let asked = 0
    const isShipping = async () => ++asked > 0
    const [report] = (await auditDay(job, { ...deps, store, policy, isShipping }, never)).streams
    expect(report).toMatchObject({
      missing: 1,
      extra: 0,
      isEqual: false,
      missingEvents: [{ id: 'event-3' }],
    })
    expect(clock.monotonic() - beganMs).toBeLessThanOrEqual(most * 1000)
    expect(asked > 0).toBe(most > 0)
  }
})

test('distinguishes not yet delivered from missing by the time of the event', async () => {
  const { deps, clock } = listing(2)
  const store = await storeAt(clock)
  await ship(store, [0], Date.parse(eventOf(1).time!))
  const [report] = (await auditDay(job, { ...deps, store, policy, isShipping: async () => false }, never))
    .streams
  expect(report).toMatchObject({ listed: 4, ledger: 1, missing: 1, notYetDue: 2, extra: 0, isEqual: false })
  expect(report!.minutes).toEqual([
    { minute: '2026-11-20T11:55:00.000Z', listed: 4, ledger: 1, missing: 1, notYetDue: 2, extra: 0 },
  ])
})

describe('events that a running process is about to read for the first time', () => {
  const firstDay = day
  const route = { zone: zone.id, sink: 'archive', firstDay, plannedAtMs: 0 }

  test('are not delivered yet if the stream has no checkpoint', async () => {
    const { deps, clock } = listing(2)
    const store = await storeAt(clock)
    const audited = async (isRunning: boolean) =>
      (await auditDay(job, { ...deps, store, policy, isShipping: async () => isRunning }, never)).streams[0]
    // No run has planned this route, so nothing is about to ship it.
    expect(await audited(true)).toMatchObject({ missing: 4, notYetDue: 0 })
    await store.catalogue.rememberRoutes([route])
    expect(await audited(true)).toMatchObject({ missing: 0, notYetDue: 4, isEqual: true })
    expect(await audited(false)).toMatchObject({ missing: 4, notYetDue: 0, isEqual: false })
  })

  test('are not delivered yet on a past day that was not read to its end', async () => {
    const { deps, clock } = listing(2)
    const store = await storeAt(clock)
    await ship(store, [0], Date.parse(eventOf(1).time!))
    const tomorrow = { ...deps.apiClock, now: () => clock.now() + 86_400_000 }
    const audited = async (isRunning: boolean) => {
      const more = { ...deps, apiClock: tomorrow, store, policy, isShipping: async () => isRunning }
      return (await auditDay(job, more, never)).streams[0]
    }
    expect(await audited(true)).toMatchObject({ missing: 1, notYetDue: 2 })
    expect(await audited(false)).toMatchObject({ missing: 3, notYetDue: 0 })
  })
})
