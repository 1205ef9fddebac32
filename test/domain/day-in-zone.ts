import { strict as assert } from 'node:assert'
import { dayOf, daysFrom, endOf, parseDay, shiftDay, startOf } from '../../src/domain/day.ts'
import { todayOf } from '../../src/domain/plan/stream-state.ts'

/**
 * A child process of `day.test.ts`: walks over a year in the time zone that it was started in, hour by hour, so
 * that it meets every change to and from summer time. Prints the zone's offsets from UTC in minutes, as proof.
 */
const from = Date.parse('2026-01-01T00:00:00.000Z')
const hourMs = 3_600_000
const offsets = new Set<number>()

for (let atMs = from; atMs < from + 400 * 24 * hourMs; atMs += hourMs) {
  const day = dayOf(atMs)
  assert.equal(day, new Date(atMs).toISOString().slice(0, 10))
  assert.equal(todayOf(atMs), new Date(atMs - 2_000).toISOString().slice(0, 10))
  assert.equal(parseDay(day), day)
  assert.equal(endOf(day) - startOf(day), 24 * hourMs)
  assert.deepEqual(daysFrom(day, shiftDay(day, 1)), [day, dayOf(endOf(day))])
  offsets.add(-new Date(atMs).getTimezoneOffset())
}
process.stdout.write(JSON.stringify({ offsets: [...offsets].sort((one, other) => one - other) }))
