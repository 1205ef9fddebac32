import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { shiftDay } from '../../src/domain/day.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { Planner } from '../../src/plan/planner.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { commitOnce } from '../contract/checkpoint-store/builders.ts'
import { at, hourMs, policy, today } from '../domain/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

const zones = [
  { id: 1, name: 'one', account: 'a' },
  { id: 2, name: 'two', account: 'b' },
]
const dayMs = 24 * hourMs
const dayAt = (by: number) => shiftDay(today, by)

/** `wrongByMs`: this host's clock is wrong from the start. */
async function createOffice(wrongByMs = 0) {
  const clock = createFakeClock(at(2) + wrongByMs)
  const first = await openMemoryStore({ clock, deadLetterMaxBytes: 1_000 })
  let store = first
  const internalEvents: InternalEvent[] = []
  let settings = { zones, sinks: ['archive'], policy }
  const started = () => {
    const apiClock = createApiClock(clock)
    const telemetry = { emit: (internalEvent: InternalEvent) => void internalEvents.push(internalEvent) }
    const planner = new Planner({
      clock,
      turn: setImmediate,
      apiClock,
      telemetry,
      settings: () => settings,
      get store() {
        return store
      },
    })
    /** The API answers each account twice with a time that is so far from the host's. */
    const tell = (offsetMs: number) => {
      for (const account of ['a', 'a', 'b', 'b']) apiClock.learn(account, offsetMs, {})
    }
    const days = async () => (await planner.plan()).map(({ stream }) => stream.day)
    return { apiClock, planner, tell, days }
  }
  return {
    clock,
    store: first,
    replaceStore: (other: typeof first) => void (store = other),
    internalEvents,
    started,
    configure: (more: Partial<typeof settings>) => void (settings = { ...settings, ...more }),
    commit: (zone: number, by: number, lastCommitAtMs = at(2)) =>
      commitOnce(store, { zone, day: dayAt(by), sink: 'archive' }, { with: { lastCommitAtMs } }),
    /** A process that runs for a while, told the time, and plans each minute. */
    async run(hours: number) {
      const { tell, planner } = started()
      tell(0)
      for (let minutes = 0; minutes <= hours * 60; minutes++) {
        await planner.remember()
        await clock.advance(60_000)
      }
      await planner.remember()
    },
    async gaps(zone = 1) {
      const gaps = await store.catalogue.gaps()
      return gaps.filter((gap) => gap.zone === zone).map(({ day, reason }) => [day, reason])
    },
  }
}

describe('the planner', () => {
  it('tells once of a state that was emptied while it ran, with what is shipped again', async () => {
    const office = await createOffice()
    await office.run(0.1)
    expect(office.internalEvents).toEqual([])
    const { tell, planner } = office.started()
    tell(0)
    const remember = async () => {
      await planner.remember()
      await office.clock.advance(60_000)
    }
    await remember()
    office.replaceStore(await openMemoryStore({ clock: office.clock, deadLetterMaxBytes: 1_000 }))
    await remember()
    await remember()
    expect(office.internalEvents).toEqual([
      {
        name: 'Warned',
        about: 'state',
        text: 'it was emptied while this process ran, and is new: ships 3 days of 2 zones to archive again',
      },
    ])
  })

  it('stores no route before the API of its account has answered with its time', async () => {
    const { store, started } = await createOffice()
    const { apiClock, planner } = started()
    await planner.remember()
    expect(await store.catalogue.routes()).toEqual([])
    apiClock.learn('b', 0, {})
    await planner.remember()
    expect(await store.catalogue.routes()).toMatchObject([{ zone: 2, firstDay: dayAt(-2) }])
  })

  it('skips no day permanently after a first run with a clock that was a year ahead', async () => {
    const { planner, tell, days } = (await createOffice(365 * dayMs)).started()
    await planner.remember()
    expect((await days()).length).toBeGreaterThan(0)
    tell(-365 * dayMs)
    await planner.remember()
    expect(new Set(await days())).toEqual(new Set([0, -1, -2].map(dayAt)))
  })

  it('plans from the right first day after some answers whose time was hours ahead, and reports a day missed since', async () => {
    const { clock, store, started, run, gaps } = await createOffice()
    const { planner, tell, days } = started()
    const first = dayAt(-2)
    tell(dayMs)
    await planner.remember()
    expect(await days()).not.toContain(first)
    tell(0)
    await clock.advance(90_000)
    await planner.remember()
    expect(await days()).toContain(first)
    expect(await store.catalogue.routes()).toMatchObject([{ firstDay: first }, { firstDay: first }])
    // Nobody runs until the API does not list that day any more.
    await clock.advance(dayMs)
    await run(0.1)
    expect(await gaps()).toEqual([[first, 'not_running']])
  })

  it.each([
    ['answers have a time decades behind', 0, [-50 * 365, 0]],
    ['the wall clock has stepped ahead', 5, [0, 0, 0]],
    ['answers with a wrong Date are confirmed', 0, [0, 5, 0]],
  ])('keeps first days, and reports no missed day, while %s', async (_, jumpDays, offsetDays) => {
    const { clock, store, started, run, gaps } = await createOffice()
    await run(0.1)
    const firstDays = async () => (await store.catalogue.routes()).map(({ firstDay }) => firstDay)
    const before = await firstDays()
    const { planner, tell } = started()
    for (const days of offsetDays) {
      tell(days * dayMs)
      await clock.advance(90_000)
      await planner.remember()
      clock.jump(jumpDays * dayMs)
    }
    expect([await firstDays(), await gaps()]).toEqual([before, []])
  })

  it.each([
    [1, [1, 2].map((zone) => ({ zone, from: dayAt(-2), to: dayAt(-1) }))],
    [policy.readableDays, []],
  ])('reports once which readable days a first run of %i days skips', async (firstRunDays, skipped) => {
    const { configure, run, internalEvents } = await createOffice()
    configure({ policy: { ...policy, firstRunDays } })
    await run(0.1)
    await run(0.1)
    expect(internalEvents).toEqual(skipped.map((each) => ({ name: 'DaysSkipped', sink: 'archive', ...each })))
  })

  it('records the days that were missed while no process ran', async () => {
    const { commit, run, clock, gaps, internalEvents } = await createOffice()
    for (const zone of [1, 2]) for (const by of [0, -1, -2]) await commit(zone, by)
    await run(1)
    await clock.advance(6 * dayMs)
    await run(0.1)
    expect(await gaps()).toEqual([1, 2, 3].map((by) => [dayAt(by), 'not_running']))
    expect(internalEvents.filter(({ name }) => name === 'GapFound')).toHaveLength(6)
  })

  it('records planned days that became unreadable before they were read, also while the process was suspended', async () => {
    const { run, clock, started, gaps } = await createOffice()
    await run(24)
    expect(await gaps()).toEqual([[dayAt(-2), 'unreadable']])
    const { planner, tell } = started()
    tell(0)
    await planner.remember()
    await clock.advance(4 * dayMs)
    await planner.remember()
    expect((await gaps()).map(([day]) => day)).toEqual([-2, -1, 0, 1, 2].map(dayAt))
  })

  it('records that a zone was not configured while others were planned', async () => {
    const { commit, run, configure, gaps } = await createOffice()
    for (const by of [-2, -1, 0]) await commit(1, by)
    for (const by of [-2, -1, 0, 1, 2, 3]) await commit(2, by)
    await run(0.5)
    configure({ zones: zones.slice(1) })
    await run(24 * 5)
    expect(await gaps()).toEqual([])
    configure({ zones })
    await run(0.1)
    expect([await gaps(1), await gaps(2)]).toEqual([[1, 2].map((by) => [dayAt(by), 'not_configured']), []])
  })

  it('has a lower bound of the time after a restart', async () => {
    const { commit, started } = await createOffice()
    await commit(1, 0, at(9))
    const { apiClock, planner } = started()
    await planner.plan()
    expect([apiClock.now('a'), apiClock.now('b')]).toEqual([at(9), at(2)])
  })
})
