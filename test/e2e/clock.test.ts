import { expect, test } from 'vitest'
import { dayMs, dayOf, endOf as endOfDay, shiftDay } from '../../src/domain/day.ts'
import { clockArguments, createShiftedClock } from '../entry/shifted-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { compare, compareFiles, exactly, keysOf, linesBelow } from './shipped.ts'
import { endOf, logged, readableDays, workplace, zones } from './workplace.ts'

test('a window error ends a day that is too old, and is no refused key', async () => {
  const days = readableDays()
  const place = await workplace({ days: 60, pageSize: 25 })
  const { simulator, events } = place
  // This host is a day behind: it asks for a day that is gone, and learns from the answers which day it is.
  const late = ['--once', ...clockArguments({ offsetMs: -dayMs })]
  const gone = shiftDay(days[0], -1)
  const first = await endOf(place.entry(late))
  // Not whole, since that day could not be read; everything else is.
  expect(first.code, first.stderr).toBe(1)
  expect(compareFiles(events, simulator, zones, days)).toEqual(exactly(zones.length * 3 * 60))
  expect(first.stderr).not.toMatch(/unauthorised|access key/)
  const gaps = logged(first.stderr).filter(({ event }) => event === 'GapFound')
  expect(new Set(gaps.map(({ day }) => day))).toEqual(new Set([gone]))
  // It has ended: nobody asks for it any more.
  const second = await endOf(place.entry(late))
  expect(second.code, second.stderr).toBe(0)
  const asked = simulator.requests.filter(({ day }) => day === gone)
  expect(asked).toHaveLength(zones.length)
  expect(asked.map((request) => request.status)).toEqual([401, 401])
})

const hosts = [
  { host: 'ahead', skewMs: 120_000 },
  { host: 'behind', skewMs: -120_000 },
  { host: 'right', skewMs: 0 },
]

test.concurrent.for(hosts)(
  'midnight passes without a loss: a host clock that is $host',
  async ({ skewMs }, { expect }) => {
    const today = dayOf(Date.now())
    const tomorrow = shiftDay(today, 1)
    const originMs = Date.now()
    // Two minutes before midnight, twenty times as fast.
    const service = { rate: 20, originMs, offsetMs: endOfDay(today) - 120_000 - originMs }
    const live = { ratePerSecond: 0.5 }
    const place = await workplace({ days: 30, clock: createShiftedClock(service), live })
    const { simulator, events } = place
    place.configure({ poll: { everySeconds: 5 }, server: { port: 0 } })
    const host = { ...service, offsetMs: service.offsetMs + skewMs }
    const child = place.entry(clockArguments(host))
    await waitFor(() => simulator.count(101, tomorrow) > 40, { what: 'a new day' })
    simulator.set({ live: { ratePerSecond: 0 } })
    const days = [shiftDay(today, -1), today, tomorrow]
    await caughtUp(place, child, { days })
    expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    // The oldest day went by in between; whether it was still read is not the point here.
    const shipped = linesBelow(events).map(({ key }) => key)
    const inDays = shipped.filter((key) => days.some((day) => key.includes(`/${day}/`)))
    const whole = keysOf(simulator, zones, days)
    expect(compare(inDays, whole)).toEqual(exactly(whole.length))
    const lost = logged(child.stderr()).filter(
      ({ event, day }) => event === 'GapFound' && days.includes(day as never),
    )
    expect(lost).toEqual([])
  },
)
