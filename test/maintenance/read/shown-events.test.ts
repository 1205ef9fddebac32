import { expect, test } from 'vitest'
import { ShownEvents } from '../../../src/maintenance/read/shown-events.ts'

const at = (minute: number, fingerprint: number) => ({
  timeMs: minute * 60_000,
  fingerprint: BigInt(fingerprint),
})

test('an event is shown once', () => {
  const shown = new ShownEvents()
  const untimed = { fingerprint: 3n }
  const events = [at(7, 1), at(7, 2), at(8, 1), untimed]
  expect(events.map((event) => shown.add(event))).toEqual([true, true, true, true])
  expect(events.map((event) => shown.add(event))).toEqual([false, false, false, false])
})

test('of many events the newest minutes are remembered, and what is older counts as shown', () => {
  const shown = new ShownEvents(100)
  for (let minute = 0; minute < 1_000; minute++) expect(shown.add(at(minute, minute))).toBe(true)
  expect([999, 960].map((minute) => shown.add(at(minute, minute)))).toEqual([false, false])
  expect(shown.add(at(5, 12_345))).toBe(false)
  expect(shown.add({ fingerprint: 1n })).toBe(false)
  expect(shown.add(at(999, 12_345))).toBe(true)
})
