import { describe, test } from 'vitest'
import { dayOf } from '../../src/domain/day.ts'
import { clockArguments, createShiftedClock, todayAt } from '../entry/shifted-clock.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { compareFiles, exactly } from './shipped.ts'
import { endOf, logged, workplace } from './workplace.ts'

/** Eight in the evening: a day whose entries are spread over hours, whenever the tests run. */
const evening = todayAt(20, 5)
const today = dayOf(evening.originMs)
const zone = 101
const mostRequests = 5
const polls = 6
const pageSize = 10

function eventsOf(child: TestProcess, name: string) {
  const lines = child.stderr().split('\n')
  return logged(lines.filter((line) => line.includes(`"event":"${name}"`)).join('\n'))
}

async function scanned(child: TestProcess, times: number): Promise<void> {
  await waitFor(() => eventsOf(child, 'ScanCompleted').length >= times, {
    what: () => `${times} scans: ${JSON.stringify(eventsOf(child, 'ScanCompleted'), null, 1)}`,
    everyMs: 50,
  })
}

const shapes = [
  { order: 'oldest-first', pages: 60 },
  { order: 'newest-first', pages: 2 },
] as const

describe.concurrent('a quiet stream with a confirmed ordering', () => {
  test.for(shapes)(
    'needs few requests per poll: $order, $pages pages',
    async ({ order, pages }, { expect }) => {
      const days = { [today]: pages * pageSize - 1 }
      // Position tokens: what a stored cursor opens then shifts with each late entry, the harder case.
      const listing = { clock: createShiftedClock(evening), order, pageSize, days, zones: [zone] }
      const place = await workplace(listing, {
        zones: [zone],
        poll: { everySeconds: 0.3, firstRunDays: 1 },
        server: { port: 0 },
        log: { level: 'debug', format: 'json' },
      })
      const { simulator, events } = place
      const shippedAll = () => caughtUp(place, child, { of: [zone], days: [today] })
      const args = clockArguments(evening)
      // What is new is told from what is old by the newest event that was known when the scan before began. A daemon
      // would take its time for three scans of a long listing; a person's read request does not.
      for (const entries of pages > 10 ? [0, 0, 4] : []) {
        simulator.append(zone, today, entries)
        const ended = await endOf(place.entry(['--once', ...args]))
        expect(ended.code, ended.stderr.slice(-1000)).toBe(0)
      }
      const child = place.entry(args)
      if (pages <= 10) {
        await scanned(child, 2)
        simulator.append(zone, today, 4)
        await waitFor(() => eventsOf(child, 'OrderingChanged').length > 0, { what: 'ordering' })
      }
      // A stored cursor has to prove itself too, by what it finds.
      simulator.append(zone, today, 2)
      await shippedAll()

      await scanned(child, eventsOf(child, 'ScanCompleted').length + 1)
      const first = eventsOf(child, 'ScanCompleted').length
      const asked = simulator.requests.length
      await scanned(child, first + polls)
      const requests = simulator.requests.length - asked
      const scans = eventsOf(child, 'ScanCompleted').slice(first)
      expect(requests / scans.length).toBeLessThanOrEqual(mostRequests)
      for (const scan of scans) expect(scan['pages']).toBeLessThanOrEqual(mostRequests)

      simulator.append(zone, today, 1)
      await shippedAll()
      expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
      const whole = simulator.count(zone, today)
      expect(compareFiles(events, simulator, [zone], [today])).toEqual(exactly(whole))
    },
  )
})
