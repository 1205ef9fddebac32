import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { shiftDay } from '../../src/domain/day.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { Planner } from '../../src/plan/planner.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { at, buildCheckpoint, hourMs, policy, today } from '../domain/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { own } from '../setup/leftovers.ts'

const zones = [
  { id: 1, name: 'one', account: 'a' },
  { id: 2, name: 'two', account: 'b' },
]

/** `wrongByMs`: this host's clock is wrong from the start. */
async function createOffice(wrongByMs = 0) {
  const clock = createFakeClock(at(2) + wrongByMs)
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1_000 })
  own({ what: 'a store', isLeft: () => true, isFault: false, remove: () => store.close() })
  const internalEvents: InternalEvent[] = []
  let settings = { zones, sinks: ['archive'], policy }
  const started = () => {
    const apiClock = createApiClock(clock)
    const telemetry = { emit: (internalEvent: InternalEvent) => void internalEvents.push(internalEvent) }
    return {
      apiClock,
      planner: new Planner({
        store,
        clock,
        turn: setImmediate,
        apiClock,
        telemetry,
        settings: () => settings,
      }),
    }
  }
  return {
    clock,
    store,
    internalEvents,
    started,
    configure: (more: Partial<typeof settings>) => void (settings = { ...settings, ...more }),
    async commit(checkpoint: Checkpoint) {
      const { fence } = await store.ledger.take(checkpoint.stream, { id: 'x', schedule: true })
      const next = { ...checkpoint, commit: 1 }
      await store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters: [], gaps: [] })
    },
    /** A process that runs for a while, told the time, and plans each minute. */
    async run(hours: number, accounts: readonly string[] = ['a', 'b']) {
      const { apiClock, planner } = started()
      for (const account of accounts) apiClock.learn(account, 0, {})
      for (let minutes = 0; minutes <= hours * 60; minutes++) {
        await planner.remember()
        await clock.advance(60_000)
      }
      await planner.remember()
    },
  }
}

const daysOfGaps = async (office: Awaited<ReturnType<typeof createOffice>>, zone = 1) =>
  (await office.store.catalogue.gaps())
    .filter((gap) => gap.zone === zone)
    .map(({ day, reason }) => [day, reason])

describe('the planner', () => {
  it('stores no route before the API of its account has answered with its time', async () => {
    const office = await createOffice()
    const { apiClock, planner } = office.started()
    await planner.remember()
    expect(await office.store.catalogue.routes()).toEqual([])
    apiClock.learn('b', 0, {})
    await planner.remember()
    expect(await office.store.catalogue.routes()).toMatchObject([{ zone: 2, firstDay: shiftDay(today, -2) }])
  })

  it('skips no day permanently after a first run with a clock that was a year ahead', async () => {
    const office = await createOffice(365 * 24 * hourMs)
    const { apiClock, planner } = office.started()
    await planner.remember()
    expect((await planner.plan()).length).toBeGreaterThan(0)
    for (const account of ['a', 'b']) apiClock.learn(account, -365 * 24 * hourMs, {})
    await planner.remember()
    const days = (await planner.plan()).map(({ stream }) => stream.day)
    expect(new Set(days)).toEqual(new Set([0, -1, -2].map((by) => shiftDay(today, by))))
  })

  it('plans from the right first day after some answers whose time was hours ahead, and reports a day missed since', async () => {
    const office = await createOffice()
    const { apiClock, planner } = office.started()
    const first = shiftDay(today, -2)
    const tell = (offsetMs: number) => {
      for (const account of ['a', 'a', 'b', 'b']) apiClock.learn(account, offsetMs, {})
    }
    tell(24 * hourMs)
    await planner.remember()
    expect((await planner.plan()).map(({ stream }) => stream.day)).not.toContain(first)
    tell(0)
    await office.clock.advance(90_000)
    await planner.remember()
    expect((await planner.plan()).map(({ stream }) => stream.day)).toContain(first)
    expect(await office.store.catalogue.routes()).toMatchObject([{ firstDay: first }, { firstDay: first }])
    // Nobody runs until the API does not list that day any more.
    await office.clock.advance(24 * hourMs)
    await office.run(0.1)
    expect(await daysOfGaps(office)).toEqual([[first, 'not_running']])
  })

  it('keeps first days, and reports no missed day, after answers whose time was decades behind', async () => {
    const office = await createOffice()
    await office.run(0.1)
    const before = await office.store.catalogue.routes()
    const { apiClock, planner } = office.started()
    for (const offsetMs of [-50 * 365 * 24 * hourMs, 0]) {
      for (const account of ['a', 'a', 'b', 'b']) apiClock.learn(account, offsetMs, {})
      await office.clock.advance(90_000)
      await planner.remember()
    }
    const after = await office.store.catalogue.routes()
    expect(after.map(({ firstDay }) => firstDay)).toEqual(before.map(({ firstDay }) => firstDay))
    expect(await daysOfGaps(office)).toEqual([])
  })

  it.each([
    { what: 'the wall clock has stepped ahead', jumpDays: 5, offsetDays: 0 },
    { what: 'answers with a wrong Date are confirmed', jumpDays: 0, offsetDays: 5 },
  ])('reports no missed day while $what', async ({ jumpDays, offsetDays }) => {
    const office = await createOffice()
    const { apiClock, planner } = office.started()
    for (const days of [0, offsetDays, 0]) {
      for (const account of ['a', 'a', 'b', 'b']) apiClock.learn(account, days * 24 * hourMs, {})
      await office.clock.advance(90_000)
      await planner.remember()
      office.clock.jump(jumpDays * 24 * hourMs)
    }
    expect(await daysOfGaps(office)).toEqual([])
  })

  it('reports once, at the first run, which readable days a smaller firstRunDays skips', async () => {
    const office = await createOffice()
    office.configure({ policy: { ...policy, firstRunDays: 1 } })
    await office.run(0.1)
    await office.run(0.1)
    const skipped = { from: shiftDay(today, -2), to: shiftDay(today, -1), sink: 'archive' }
    expect(office.internalEvents).toEqual([
      { name: 'DaysSkipped', zone: 1, ...skipped },
      { name: 'DaysSkipped', zone: 2, ...skipped },
    ])
  })

  it('skips none, and reports nothing, if the first run reads every readable day', async () => {
    const office = await createOffice()
    await office.run(0.1)
    expect(office.internalEvents).toEqual([])
  })

  it('plans a stream for each route and readable day, stored or not', async () => {
    const office = await createOffice()
    expect(await office.started().planner.plan()).toHaveLength(6)
    await office.run(0.1)
    office.configure({ sinks: ['archive', 'siem'] })
    expect(await office.started().planner.plan()).toHaveLength(12)
  })

  it('records the days that were missed while no process ran', async () => {
    const office = await createOffice()
    for (const by of [0, -1, -2]) {
      for (const zone of [1, 2]) {
        await office.commit(buildCheckpoint({ stream: { zone, day: shiftDay(today, by), sink: 'archive' } }))
      }
    }
    await office.run(1)
    await office.clock.advance(6 * 24 * hourMs)
    await office.run(0.1)
    const missed = [1, 2, 3].map((by) => [shiftDay(today, by), 'not_running'])
    expect(await daysOfGaps(office)).toEqual(missed)
    expect(office.internalEvents.filter(({ name }) => name === 'GapFound')).toHaveLength(6)
  })

  it('records planned days that became unreadable before they were read', async () => {
    const office = await createOffice()
    await office.run(24)
    expect(await daysOfGaps(office)).toEqual([[shiftDay(today, -2), 'unreadable']])
  })

  it('records the days that were missed while the process was suspended', async () => {
    const office = await createOffice()
    const { apiClock, planner } = office.started()
    for (const account of ['a', 'b']) apiClock.learn(account, 0, {})
    await planner.remember()
    await office.clock.advance(5 * 24 * hourMs)
    await planner.remember()
    expect((await daysOfGaps(office)).map(([day]) => day)).toEqual(
      [-2, -1, 0, 1, 2].map((by) => shiftDay(today, by)),
    )
  })

  it('records that a zone was not configured while others were planned', async () => {
    const office = await createOffice()
    const read = [1, 2].flatMap((zone) =>
      (zone === 1 ? [-2, -1, 0] : [-2, -1, 0, 1, 2, 3]).map((by) => ({ zone, by })),
    )
    for (const { zone, by } of read) {
      await office.commit(buildCheckpoint({ stream: { zone, day: shiftDay(today, by), sink: 'archive' } }))
    }
    await office.run(0.5)
    office.configure({ zones: zones.slice(1) })
    await office.run(24 * 5)
    expect(await daysOfGaps(office, 1)).toEqual([])
    office.configure({ zones })
    await office.run(0.1)
    expect(await daysOfGaps(office, 1)).toEqual([1, 2].map((by) => [shiftDay(today, by), 'not_configured']))
    expect(await daysOfGaps(office, 2)).toEqual([])
  })

  it('has a lower bound of the time after a restart', async () => {
    const office = await createOffice()
    await office.commit(
      buildCheckpoint({ stream: { zone: 1, day: today, sink: 'archive' }, lastCommitAtMs: at(9) }),
    )
    const { apiClock, planner } = office.started()
    await planner.plan()
    expect([apiClock.now('a'), apiClock.now('b')]).toEqual([at(9), at(2)])
  })
})
