import { expect, test } from 'vitest'
import { shiftDay, type Day } from '../../../src/domain/day.ts'
import { Failure } from '../../../src/domain/failure.ts'
import type { Policy } from '../../../src/domain/policy.ts'
import type { Page } from '../../../src/domain/scan/page.ts'
import type { PageRequest } from '../../../src/ports/delivery.ts'
import type { Store } from '../../../src/ports/store.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { planBackfill } from '../../../src/tasks/backfill/plan.ts'
import { noLongerKept } from '../../../src/pump/end-stream.ts'
import { openMemoryStore } from '../../setup/stores.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { buildStream, commitOnce, complete, nothingOld } from '../../contract/checkpoint-store/builders.ts'
import { at } from '../../domain/builders.ts'
import { never } from '../audit/listing.ts'

const today = '2026-11-20' as Day
const nowMs = at(12)
const before = (days: number) => shiftDay(today, -days)
const zones = [1, 2].map((id) => ({ id, name: String(id), account: 'default' }))
const policy = { readableDays: 3 } as Policy

interface Asking {
  /** What the API answers for a day: undefined for a page. */
  readonly answer?: (day: Day, zone: number) => Failure | undefined
  readonly hostAheadMs?: number
  readonly store?: Store
  readonly maxAgeHours?: number
  readonly resend?: boolean
}

/** Plans days back to `from`; returns what was asked for, and what became of each stream. */
async function planned(
  from: Day,
  to: Day,
  { answer = () => undefined, hostAheadMs = 0, store, maxAgeHours, resend = false }: Asking,
) {
  const clock = createFakeClock(nowMs + hostAheadMs, true)
  const asked: string[] = []
  let held = 0
  async function fetchPage({ zone, day }: PageRequest): Promise<Page> {
    asked.push(`${zone.id} ${day}`)
    const failure = answer(day, zone.id)
    if (failure !== undefined) throw failure
    held++
    const release = () => void held--
    return {
      content: () => ({ events: [], more: false, next: null }),
      bytes: 0,
      requestedAt: 0,
      clockOffsetMs: -hostAheadMs,
      release,
    }
  }
  const deps = {
    source: { fetchPage },
    store,
    clock,
    apiClock: createApiClock(clock),
    policy,
    maxAgeHoursOf: () => maxAgeHours,
  }
  const plan = await planBackfill({ from, to, zones, sinks: ['archive'], resend }, deps, never)
  expect(held).toBe(0)
  const outcome = new Map(
    plan.streams.map(({ stream, state, reason }) => [`${stream.zone} ${stream.day}`, reason ?? state]),
  )
  return { asked, outcome, plan }
}

const refused = () => new Failure('stop', 'window_closed', 'outside', { serverDate: nowMs })

test('sends no request for days that should be readable', async () => {
  const { asked, outcome, plan } = await planned(before(2), shiftDay(today, 1), {})
  expect(asked).toEqual([])
  expect(new Set(outcome.values())).toEqual(new Set(['queued', 'the day has not begun yet']))
  expect(outcome.get(`1 ${shiftDay(today, 1)}`)).toBe('the day has not begun yet')
  expect(plan.streams.map(({ stream }) => stream.day)).toEqual(
    [before(2), before(1), today, shiftDay(today, 1)].flatMap((day) => [day, day]),
  )
})

test('requests the newest old day first, and none before a refused one', async () => {
  const { asked, outcome } = await planned(before(9), before(2), {
    answer: (day, zone) => (day < before(zone === 1 ? 4 : 2) ? refused() : undefined),
  })
  expect(asked.toSorted()).toEqual(
    [`1 ${before(3)}`, `1 ${before(4)}`, `1 ${before(5)}`, `2 ${before(3)}`].toSorted(),
  )
  expect(outcome.get(`1 ${before(4)}`)).toBe('queued')
  expect(outcome.get(`1 ${before(9)}`)).toBe(noLongerKept)
  expect(outcome.get(`2 ${before(2)}`)).toBe('queued')
  expect(outcome.get(`2 ${before(3)}`)).toBe(noLongerKept)
})

test('leaves out days whose request failed, with the reason', async () => {
  const { asked, outcome } = await planned(before(5), today, {
    answer: () => new Failure('stop', 'unauthorised', 'the key is refused'),
  })
  expect(asked.toSorted()).toEqual([`1 ${before(3)}`, `2 ${before(3)}`])
  expect(outcome.get(`1 ${before(5)}`)).toBe('it could not be read: the key is refused')
  expect(outcome.get(`1 ${today}`)).toBe('queued')
})

test('uses the time of the API in an answer', async () => {
  // By this host's clock, three days ahead, the last readable days are too old.
  const { asked, outcome } = await planned(before(2), before(0), { hostAheadMs: 3 * 86_400_000 })
  expect(asked.length).toBeLessThanOrEqual(2)
  expect(new Set(outcome.values())).toEqual(new Set(['queued']))
})

test('leaves out days for which it is no longer known what was shipped', async () => {
  const store = await openMemoryStore({ clock: createFakeClock(nowMs), deadLetterMaxBytes: 1 })
  for (const zone of [1, 2]) {
    const stream = buildStream({ zone, day: before(4) })
    const seen = new Map([[29_400_000, new Uint8Array(16).fill(7)]])
    await commitOnce(store, stream, { with: complete, seen })
  }
  await store.upkeep.dropIndex(buildStream({ zone: 2, day: before(4) }))
  const { outcome } = await planned(before(4), before(4), { store })
  expect(outcome.get(`1 ${before(4)}`)).toBe('queued')
  expect(outcome.get(`2 ${before(4)}`)).toMatch(/^the day was shipped, but its .* index .* ship it twice$/)
  await store.upkeep.prune([buildStream({ zone: 1, day: before(4) })], nothingOld)
  const { outcome: later } = await planned(before(5), before(4), { store })
  expect(later.get(`1 ${before(4)}`)).toMatch(/^the day was shipped, and the state has dropped what/)
  expect(later.get(`1 ${before(5)}`)).toBe('queued')
  const { outcome: again } = await planned(before(4), before(4), { store, resend: true })
  expect(new Set(again.values())).toEqual(new Set(['queued']))
})

test('says of a day whose files retention has removed what became of them', async () => {
  const store = await openMemoryStore({ clock: createFakeClock(nowMs), deadLetterMaxBytes: 1 })
  const stream = buildStream({ zone: 1, day: before(4) })
  const seen = new Map([[29_400_000, new Uint8Array(16).fill(7)]])
  await commitOnce(store, stream, { with: { ...complete, removed: { days: 3, atMs: nowMs } }, seen })
  await store.upkeep.dropIndex(stream)
  const { outcome } = await planned(before(4), before(4), { store })
  expect(outcome.get(`1 ${before(4)}`)).toBe('the day was shipped, and its files were removed after 3 days')
})

test('ends on a stop', async () => {
  const answer = () => new Failure('cancelled', 'cancelled', 'stopped')
  await expect(planned(before(5), before(5), { answer })).rejects.toThrow('stopped')
})

test('leaves out days that are too old for the destination, with the limit', async () => {
  const ageOf = (day: Day) => (nowMs - Date.parse(day) - 86_400_000) / 3_600_000
  const { outcome } = await planned(before(2), today, { maxAgeHours: ageOf(before(2)) })
  expect(outcome.get(`1 ${before(2)}`)).toMatch(
    /^its events are too old for the destination, .* \d+(\.\d+)? h/,
  )
  expect([outcome.get(`1 ${before(1)}`), outcome.get(`1 ${today}`)]).toEqual(['queued', 'queued'])
})
