import { expect, test } from 'vitest'
import { linesBelow, type Line } from './shipped.ts'
import { logged, readableDays, workplace, zones } from './workplace.ts'
import * as faults from '../simulator/faults.ts'

test('entries with the same id and time and other content are all in files once, and an audit agrees', async () => {
  const place = await workplace({ days: 40, pageSize: 20 })
  const { simulator, events } = place
  simulator.fail({ times: Infinity, fault: faults.sharedIds({ every: 5 }) })
  const first = await place.once()
  expect(first.code, first.stderr).toBe(0)
  // Pages that end elsewhere, with the same entries.
  for (const pageSize of [10, 5]) {
    simulator.set({ pageSize })
    const again = await place.once()
    expect(again.code, again.stderr).toBe(0)
  }
  const lines = linesBelow(events)
  const days = zones.length * 3
  expect(lines).toHaveLength(days * 48)
  expect(new Set(lines.map(({ key }) => key)).size).toBe(lines.length)
  const contentOf = ({ time, log, ...rest }: Line) => JSON.stringify([Reflect.get(rest, 'labels'), time, log])
  for (const zone of zones) {
    const shared = simulator.entries(zone, readableDays()[0]).filter((_, index) => index % 5 === 0)
    for (const { logId } of shared) {
      const own = lines.filter(({ line }) => line.id.startsWith(`${logId}~`))
      expect(own).toHaveLength(2)
      expect(new Set(own.map(({ line }) => contentOf(line))).size).toBe(2)
      expect(lines.filter(({ line }) => line.id === logId)).toEqual([])
    }
  }
  const warnings = logged(first.stderr).filter(({ event }) => event === 'IdSharedByEvents')
  expect(warnings.map(({ zone, day }) => `${String(zone)} ${String(day)}`).sort()).toEqual(
    zones.flatMap((zone) => readableDays().map((day) => `${zone} ${day}`)),
  )
  const audit = await place.ended(['audit', '--deep'])
  expect(audit.code, audit.stdout + audit.stderr).toBe(0)
})
