import { copyFileSync, globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dayMs, dayOf, endOf as endOfDay, shiftDay, startOf } from '../../src/domain/day.ts'
import { clockArguments, createShiftedClock } from '../entry/shifted-clock.ts'
import { compareFiles, exactly, linesBelow } from './shipped.ts'
import { endOf, logged, readableDays, workplace, zones, type Ended, type Workplace } from './workplace.ts'

function done({ code, stderr }: Ended): Ended['stderr'] {
  expect(code, stderr).toBe(0)
  return stderr
}

/** The store's files: beside a stopped process they are a whole copy of it. */
function stateFiles({ folder, database }: Workplace): string[] {
  const name = database.slice(folder.length + 1)
  return globSync(`${name}*`, { cwd: folder })
}

function removeState(place: Workplace): void {
  for (const name of stateFiles(place)) rmSync(join(place.folder, name))
}

/** Copies the state aside; the result puts it back in place of whatever is there. */
function copyState(place: Workplace): () => void {
  const names = stateFiles(place)
  for (const name of names) copyFileSync(join(place.folder, name), join(place.folder, `older-${name}`))
  return () => {
    removeState(place)
    for (const name of names) copyFileSync(join(place.folder, `older-${name}`), join(place.folder, name))
  }
}

function textsBelow(path: string): string[] {
  return linesBelow(path).map(({ key, line }) => `${key} ${JSON.stringify(line)}`)
}

/** Lines that stood there before and do not any more. */
function lost(before: readonly string[], path: string): string[] {
  const now = new Set(textsBelow(path))
  return before.filter((text) => !now.has(text))
}

test('a deleted store causes duplicates, and no losses', async () => {
  const days = readableDays()
  const place = await workplace({ days: 400, pageSize: 100 })
  const { simulator, events } = place
  done(await place.once())
  const before = textsBelow(events)
  removeState(place)
  for (const zone of zones) simulator.append(zone, days[1], 5)
  const said = logged(done(await place.once()))
  expect(lost(before, events)).toEqual([])
  expect(compareFiles(events, simulator, zones, days)).toMatchObject({ missing: 0, strange: 0 })
  expect(said.filter(({ event }) => event === 'PartsOfAnotherStore')).not.toEqual([])
  // What was written under the new store is its own again.
  const known = textsBelow(events).length
  for (const zone of zones) simulator.append(zone, days[0], 3)
  done(await place.once())
  expect(textsBelow(events)).toHaveLength(known + zones.length * 3)
})

test('a store restored from an older copy causes no losses', async () => {
  const days = readableDays()
  const place = await workplace({ days: 400, pageSize: 100 })
  const { simulator, events } = place
  place.configure({ sinks: [{ name: 'archive', type: 'file', path: events, rotate: { maxBytes: 100_000 } }] })
  done(await place.once())
  const putBack = copyState(place)
  for (const zone of zones) for (const day of days) simulator.append(zone, day, 150)
  done(await place.once())
  const before = textsBelow(events)
  putBack()
  simulator.append(101, days[2], 5)
  done(await place.once())
  // Everything can still be read, so that what was cut came back: each event once, not merely once or more.
  const whole = zones.length * 3 * 550 + 5
  expect(compareFiles(events, simulator, zones, days)).toEqual(exactly(whole))
  expect(lost(before, events)).toEqual([])
})

test('an older copy of the store keeps lines of a day that can no longer be read', async () => {
  const days = readableDays()
  const place = await workplace({ days: 100, pageSize: 30 })
  const { simulator, events } = place
  done(await place.once())
  const putBack = copyState(place)
  for (const zone of zones) simulator.append(zone, days[0], 40, { timestampMs: endOfDay(days[0]) - 5_000 })
  done(await place.once())
  const before = textsBelow(events)
  putBack()
  // A day later for everybody: the API gives the oldest day no more.
  simulator.set({ clock: createShiftedClock({ offsetMs: dayMs }) })
  const tomorrow = shiftDay(dayOf(Date.now()), 1)
  simulator.append(101, tomorrow, 5, { timestampMs: startOf(tomorrow) + 1 })
  const later = ['--once', ...clockArguments({ offsetMs: dayMs })]
  done(await endOf(place.entry(later)))
  expect(lost(before, events)).toEqual([])
  const all = [...days, tomorrow]
  expect(compareFiles(events, simulator, zones, all)).toEqual(exactly(before.length + 5))
  done(await endOf(place.entry(later)))
  expect(compareFiles(events, simulator, zones, all)).toEqual(exactly(before.length + 5))
})
