import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shiftDay } from '../../src/domain/day.ts'
import { Failure } from '../../src/domain/failure.ts'
import { todayOf } from '../../src/domain/plan/stream-state.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { createFakeClock, type FakeClock } from '../fakes/fake-clock.ts'

const dayMs = 86_400_000

function created() {
  const clock = createFakeClock()
  const apiClock = createApiClock(clock)
  /** How far it is from this host's clock, and whether that is confirmed. */
  const known = (account = 'a') => [apiClock.now(account) - clock.now(), apiClock.isConfirmed(account)]
  return { clock, apiClock, known }
}

describe('the clock of the API', () => {
  it.each<[what: string, learned: number[], offsetMs: number, isConfirmed: boolean]>([
    ['no answer', [], 0, false],
    ['a first one', [-20_000], -20_000, true],
    ['a first one that differs much from this host', [-dayMs], -dayMs, false],
    ['a second one like that', [-dayMs, -dayMs + 1_000], -dayMs + 1_000, true],
    ['a difference below the precision of a Date header', [1_999], 0, true],
    ['a difference above it', [-2_000], -2_000, true],
    ['a drift', [0, 25_000], 25_000, true],
    ['a jump', [25_000, dayMs], 25_000, true],
    ['a jump that a second answer confirms', [25_000, dayMs, dayMs + 900], dayMs + 900, true],
  ])('after %s has the offset of what counts', (_, learned, offsetMs, isConfirmed) => {
    const { apiClock, known } = created()
    for (const each of learned) apiClock.learn('a', each, {})
    expect(known()).toEqual([offsetMs, isConfirmed])
    expect(known('b')).toEqual([0, false])
  })

  it.each([{ connection: {} }, { connection: undefined }])(
    'is not confirmed by answers over one connection, or over unknown ones: $connection',
    ({ connection }) => {
      const { apiClock } = created()
      for (let answer = 0; answer < 5; answer++) apiClock.learn('a', dayMs, connection)
      expect(apiClock.isConfirmed('a')).toBe(false)
      apiClock.learn('a', 0, connection)
      for (let answer = 0; answer < 5; answer++) apiClock.learn('a', dayMs, connection)
      expect([apiClock.isConfirmed('a'), apiClock.offsetOf('a')]).toEqual([true, 0])
      apiClock.learn('a', dayMs, {})
      expect(apiClock.offsetOf('a')).toBe(dayMs)
    },
  )

  it.each([1, 2])(
    'is forgotten after hours without an answer, if %d answers put it far from this host',
    async (answers) => {
      const { clock, apiClock, known } = created()
      for (let answer = 0; answer < answers; answer++) apiClock.learn('a', -10 * dayMs, {})
      for (let hour = 0; hour < 5; hour++) {
        await clock.advance(3_600_000)
        apiClock.learn('a', -10 * dayMs, {})
      }
      await clock.advance(7_199_000)
      expect([apiClock.offsetOf('a'), apiClock.isConfirmed('a')]).toEqual([-10 * dayMs, true])
      await clock.advance(1_000)
      expect([...known(), apiClock.sureNow('a')]).toEqual([0, false, undefined])
      apiClock.learn('b', 20_000, {})
      await clock.advance(10 * dayMs)
      expect(apiClock.isConfirmed('b')).toBe(true)
    },
  )

  it('is never moved by single deviating answers, however many', () => {
    const wrong = fc
      .integer({ min: -10 * dayMs, max: 10 * dayMs })
      .filter((offset) => Math.abs(offset) > 60_000)
    fc.assert(
      fc.property(fc.array(fc.option(wrong), { maxLength: 50 }), (answers) => {
        const { apiClock } = created()
        apiClock.learn('a', 0, {})
        for (const answer of answers) {
          if (answer !== null) apiClock.learn('a', answer, {})
          apiClock.learn('a', 500, {})
          expect(apiClock.offsetOf('a')).toBe(0)
        }
      }),
    )
  })

  it('is not before the time in the store until an answer of the API', () => {
    const { clock, apiClock } = created()
    const later = clock.now() + dayMs
    apiClock.notBefore('a', later)
    apiClock.notBefore('a', clock.now() - dayMs)
    expect([apiClock.now('a'), apiClock.isConfirmed('a')]).toEqual([later, false])
    apiClock.learn('a', 0, {})
    apiClock.notBefore('a', later)
    expect(apiClock.now('a')).toBe(clock.now())
  })

  it('is the clock of this host once two answers without a Date have listed the day of today', () => {
    const { clock, apiClock, known } = created()
    apiClock.listed('a', shiftDay(todayOf(clock.steady()), -1))
    apiClock.listed('a', todayOf(clock.steady()))
    expect(apiClock.isConfirmed('a')).toBe(false)
    apiClock.listed('a', todayOf(clock.steady()))
    expect(known()).toEqual([0, true])
  })

  const refused = new Failure('refuse', 'window_closed', 'outside')
  const dayAfter = (clock: Pick<FakeClock, 'now'>, ms: number) => todayOf(clock.now() + ms)

  it('is the wall clock where the API refuses what was today when the process began, and sends no Date', async () => {
    const { clock, apiClock, known } = created()
    const wrongDay = dayAfter(clock, 0)
    apiClock.learnFrom('a', wrongDay, refused)
    apiClock.learnFrom('a', wrongDay, refused)
    expect(known()).toEqual([0, false])
    clock.jump(20_000 * dayMs)
    expect(known()).toEqual([0, false])
    // Confirmed by listings of its day, and kept from then on, whatever the wall clock does.
    for (let answer = 0; answer < 2; answer++) apiClock.listed('a', dayAfter(clock, 0))
    expect(known()).toEqual([0, true])
    clock.jump(-3 * dayMs)
    apiClock.learnFrom('a', dayAfter(clock, 3 * dayMs), refused)
    await clock.advance(3_600_000)
    expect(known()).toEqual([3 * dayMs, true])
  })

  it('is not that of a commit from the future where the API refuses the day of it, and sends no Date', () => {
    const { clock, apiClock, known } = created()
    apiClock.notBefore('a', clock.now() + 10 * dayMs)
    apiClock.learnFrom('a', dayAfter(clock, 9 * dayMs), refused)
    expect(known()).toEqual([10 * dayMs, false])
    apiClock.learnFrom('a', dayAfter(clock, 10 * dayMs), refused)
    apiClock.notBefore('a', clock.now() + 10 * dayMs)
    expect(known()).toEqual([0, false])
    for (let answer = 0; answer < 2; answer++) apiClock.listed('a', dayAfter(clock, 0))
    expect(known()).toEqual([0, true])
  })

  it('is that of the latest commit again where the API refuses the day of the wall clock too', () => {
    const { clock, apiClock, known } = created()
    apiClock.notBefore('a', clock.now() + 10 * dayMs)
    for (const days of [10, 0, 10, 0]) apiClock.learnFrom('a', dayAfter(clock, days * dayMs), refused)
    expect(known()).toEqual([10 * dayMs, false])
  })

  it('stays that of a Date, confirmed or not, whatever answers have none', () => {
    const { clock, apiClock, known } = created()
    apiClock.learn('a', dayMs, {})
    for (let answer = 0; answer < 3; answer++) apiClock.listed('a', todayOf(clock.steady()))
    expect(known()).toEqual([dayMs, false])
    apiClock.learn('a', dayMs, {})
    for (let answer = 0; answer < 3; answer++) apiClock.listed('a', todayOf(clock.steady()))
    expect(apiClock.now('a')).toBe(clock.now() + dayMs)
  })
})

it('events are as old as they are by the earlier of both clocks, and not known to be old before the API told its time', () => {
  const { clock, apiClock } = created()
  expect(apiClock.earliest('a')).toBeUndefined()
  apiClock.learn('a', -26 * 3_600_000, {})
  expect(apiClock.earliest('a')).toBe(clock.now() - 26 * 3_600_000)
  apiClock.learn('b', dayMs, {})
  expect(apiClock.earliest('b')).toBe(clock.now())
})

describe('the time by which something is decided for good', () => {
  it('is unknown until the API has answered, and while its latest answer contradicts the others', () => {
    const { clock, apiClock } = created()
    expect(apiClock.sureNow('a')).toBeUndefined()
    apiClock.learn('a', 0, {})
    expect(apiClock.sureNow('a')).toBe(clock.now())
    apiClock.learn('a', 3 * dayMs, {})
    expect(apiClock.sureNow('a')).toBeUndefined()
    apiClock.learn('a', 0, {})
    expect(apiClock.sureNow('a')).toBe(clock.now())
  })

  it('has passed by the clock of the API and by the wall clock, and by the steady clock where these two disagree', () => {
    const { clock, apiClock } = created()
    const startMs = clock.now()
    for (let answer = 0; answer < 2; answer++) apiClock.learn('a', 3 * dayMs, {})
    expect(apiClock.sureNow('a')).toBe(startMs)
    clock.jump(10 * dayMs)
    expect(apiClock.sureNow('a')).toBe(startMs)
    clock.jump(-7 * dayMs - 1_000)
    expect(apiClock.sureNow('a')).toBe(startMs + 3 * dayMs - 1_000)
    clock.jump(-20 * dayMs)
    expect(apiClock.sureNow('a')).toBe(startMs - 17 * dayMs - 1_000)
  })
})
