import { test } from 'vitest'
import { dayMs, dayOf, endOf as endOfDay, shiftDay } from '../../src/domain/day.ts'
import { clockArguments, createShiftedClock } from '../entry/shifted-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { expectEachOnce, linesIn } from './shipped.ts'
import { logged, workplace, zones } from './workplace.ts'

const steps = [
  { how: 'ten days ahead for a while', stepMs: 10 * dayMs, isBrief: true },
  { how: 'ten days ahead for ever', stepMs: 10 * dayMs, isBrief: false },
  { how: 'ten days back for ever', stepMs: -10 * dayMs, isBrief: false },
]

test.concurrent.for(steps)(
  'the wall clock of a running process steps $how: no day ends, and nothing is lost',
  async ({ stepMs, isBrief }, { expect }) => {
    const today = dayOf(Date.now())
    // The middle of a day, so that no midnight comes in between.
    const originMs = Date.now()
    const clock = { originMs, offsetMs: endOfDay(today) - dayMs / 2 - originMs }
    const place = await workplace({ days: 30, clock: createShiftedClock(clock), live: { ratePerSecond: 5 } })
    const { simulator, events } = place
    place.configure({ poll: { everySeconds: 0.5 } })
    const child = place.entry([...clockArguments(clock), `--step-ms=${stepMs}`])
    const listed = () => simulator.count(101, today) + simulator.count(102, today)
    await waitFor(() => linesIn(events, [today]) > 70, { what: 'events of today' })
    for (let step = 0; step < (isBrief ? 2 : 1); step++) {
      process.kill(child.pid, 'SIGUSR2')
      await waitFor(() => child.stderr().includes(`stepped ${step + 1}`), { what: 'a step of the clock' })
      const before = listed()
      await waitFor(() => linesIn(events, [today]) > before, { what: 'events after a step of the clock' })
    }
    simulator.calm()
    const days = [shiftDay(today, -2), shiftDay(today, -1), today]
    await caughtUp(place, child, { days })
    expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expectEachOnce(events, simulator, zones, days)
    const ends = logged(child.stderr()).filter(({ event }) => event === 'GapFound' || event === 'StreamEnded')
    expect(ends).toEqual([])
  },
)
