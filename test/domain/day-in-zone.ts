import { strict as assert } from 'node:assert'
import { dayOf, daysBetween, daysFrom, endOf, parseDay, shiftDay, startOf } from '../../src/domain/day.ts'
import { todayOf } from '../../src/domain/plan/stream-state.ts'

/**
 * A child process of `day.test.ts`: walks over a year in the time zone that it was started in, hour by hour, so
 * that it meets every change to and from summer time.
 */
const from = Date.parse('2026-01-01T00:00:00.000Z')
const hourMs = 3_600_000

for (let atMs = from; atMs < from + 400 * 24 * hourMs; atMs += hourMs) {
  const day = dayOf(atMs)
  assert.equal(day, new Date(atMs).toISOString().slice(0, 10))
  assert.equal(dayOf(atMs - 1), new Date(atMs - 1).toISOString().slice(0, 10))
  assert.equal(todayOf(atMs), new Date(atMs - 2_000).toISOString().slice(0, 10))
  assert.equal(parseDay(day), day)
  assert.equal(endOf(day) - startOf(day), 24 * hourMs)
  assert.ok(startOf(day) <= atMs && atMs < endOf(day))
  const next = shiftDay(day, 1)
  assert.equal(startOf(next), endOf(day))
  assert.equal(daysBetween(day, shiftDay(day, 40)), 40)
  assert.deepEqual(daysFrom(day, next), [day, next])
}
assert.equal(parseDay('2026-02-29'), undefined)
process.stdout.write(JSON.stringify({ offsets: offsets() }))

/** Which offsets from UTC the zone has, in minutes: proof that it is the one asked for. */
function offsets(): number[] {
  const months = Array.from({ length: 12 }, (_, month) => from + month * 30 * 24 * hourMs)
  return [...new Set(months.map((atMs) => -new Date(atMs).getTimezoneOffset()))].sort((a, b) => a - b)
}
