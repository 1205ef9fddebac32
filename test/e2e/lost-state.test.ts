import { copyFileSync, globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dayMs, dayOf, endOf as endOfDay, shiftDay, startOf } from '../../src/domain/day.ts'
import { told } from '../tasks/backfill/backfilling.ts'
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

interface Gaps {
  readonly gaps: readonly {
    readonly zone: number
    readonly sink: string
    readonly files?: readonly string[]
  }[]
}

test('an older copy of the store: lines of a day that can no longer be read are in copies, which ship once', async () => {
  // All of it was a day ago; then the API gives the oldest day no more.
  const shift = { offsetMs: -dayMs }
  const today = dayOf(Date.now())
  const days = readableDays().map((day) => shiftDay(day, -1))
  const counts = Object.fromEntries(days.map((day) => [day, 100]))
  const place = await workplace({ days: counts, pageSize: 30, clock: createShiftedClock(shift) })
  const { simulator, events } = place
  const earlier = () => endOf(place.entry(['--once', ...clockArguments(shift)]))
  // Small parts: whole ones are cut as well as the end of one.
  place.configure({ sinks: [{ name: 'archive', type: 'file', path: events, rotate: { maxBytes: 10_000 } }] })
  done(await earlier())
  const putBack = copyState(place)
  for (const zone of zones)
    for (const day of days) simulator.append(zone, day, 40, { timestampMs: endOfDay(day) - 5_000 })
  done(await earlier())
  const before = textsBelow(events)
  putBack()
  simulator.set({ clock: createShiftedClock({ offsetMs: 0 }) })
  simulator.append(101, today, 5, { timestampMs: startOf(today) + 1 })
  done(await place.once())
  // What can still be read came back.
  expect(lost(before, events)).toHaveLength(zones.length * 40)
  // Gaps name the copies, and the commands that ship them.
  const { gaps } = JSON.parse((await told(place, 'gaps', 'list', '--json')).stdout) as Gaps
  const files = gaps.flatMap((gap) => gap.files ?? [])
  expect(files.length).toBeGreaterThan(zones.length)
  expect(files.every((file) => file.startsWith(join(events, '.shieldlog', 'aside')))).toBe(true)
  const { stdout } = await place.ended(['gaps', 'list'])
  const commands = stdout
    .split('\n')
    .map((line) => / (backfill --source .+) -c /.exec(line)?.[1]?.split(' ') ?? [])
    .filter(([, , source]) => files.includes(source!))
  expect(commands).toHaveLength(files.length)
  // The second time they have nothing to ship.
  for (const command of [...commands, ...commands]) done(await told(place, ...command))
  const all = [...days, today]
  expect(lost(before, events)).toEqual([])
  expect(compareFiles(events, simulator, zones, all)).toEqual(exactly(before.length + 5))
  done(await place.once())
  expect(compareFiles(events, simulator, zones, all)).toEqual(exactly(before.length + 5))
})
