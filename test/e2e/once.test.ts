import { expect, test } from 'vitest'
import { endOf as endOfDay, startOf, type Day } from '../../src/domain/day.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { compareFiles, exactly, linesBelow } from './shipped.ts'
import { readableDays, workplace, zones, type Ended } from './workplace.ts'

/** Late entries into past days and early today, live ones at the end; returns how many. */
function arrive(simulator: Simulator, days: readonly [Day, Day, Day]): number {
  const [first, second, today] = days
  for (const zone of zones) {
    simulator.append(zone, first, 7, { timestampMs: (index) => startOf(first) + index * 3_600_000 })
    simulator.append(zone, second, 5, { timestampMs: endOfDay(second) - 1 })
    simulator.append(zone, today, 3, { timestampMs: startOf(today) + 1 })
    simulator.append(zone, today, 11)
  }
  return zones.length * 26
}

function expectDone({ code, stderr }: Pick<Ended, 'code' | 'stderr'>): void {
  expect(code, stderr).toBe(0)
}

test('ships every event once, then nothing, then exactly the late and new events', async () => {
  const days = readableDays()
  const place = await workplace({ days: 1500, pageSize: 400 })
  const { simulator, events } = place
  expectDone(await place.once())
  const whole = zones.length * days.length * 1500
  expect(compareFiles(events, simulator, zones, days)).toEqual(exactly(whole))

  const requests = simulator.requests.length
  expectDone(await place.once())
  // It did look: each stream was read again from its first page to its last.
  expect(simulator.requests.length - requests).toBe(zones.length * days.length * 4)
  expect(linesBelow(events)).toHaveLength(whole)

  const before = new Set(linesBelow(events).map(({ key }) => key))
  const added = arrive(simulator, days)
  expectDone(await place.once())
  expect(compareFiles(events, simulator, zones, days)).toEqual(exactly(whole + added))
  const fresh = linesBelow(events).filter(({ key }) => !before.has(key))
  expect(fresh).toHaveLength(added)
})
