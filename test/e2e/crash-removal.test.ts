import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Removed } from '../../src/domain/retention.ts'
import { shiftDay, type Day } from '../../src/domain/day.ts'
import { told } from '../tasks/backfill/backfilling.ts'
import { clockArguments, createShiftedClock } from '../entry/shifted-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { simulated, readableDays, workplace, accessKey } from './workplace.ts'
import { inStore } from '../setup/stores.ts'

const zone = 101
const agoDays = 10
const moments = [
  'before:mark:1',
  'amid:mark:1',
  // Some parts of the day stand, some are gone.
  'after:removal:1',
  'before:removal:2',
  'after:mark:1',
]

test('killed within the removal of days: none is missing, none goes without a mark, and the next run ends it', async () => {
  const past = { offsetMs: -agoDays * 86_400_000 }
  const clock = createShiftedClock(past)
  const place = await workplace({ zones: [zone], days: 40, pageSize: 10, clock }, { zones: [zone] })
  const archive = { name: 'archive', type: 'file', path: place.events, rotate: { maxBytes: 2_000 } }
  place.configure({ sinks: [archive] })
  const shipped = place.entry(['--once', ...clockArguments(past)])
  expect(await shipped.exited, shipped.stderr()).toEqual({ code: 0, signal: null })
  const files = (day: Day) => globSync(`shield_zone=*/day=${day}/*`, { cwd: place.events })
  const days = readableDays().map((day) => shiftDay(day, -agoDays))
  const before = new Map(days.map((day) => [day, files(day).length]))
  expect(Math.min(...before.values())).toBeGreaterThan(2)

  const { url: baseUrl } = await simulated({ zones: [zone], days: 5 })
  place.configure({
    api: { baseUrl, accessKey },
    sinks: [{ ...archive, retention: { days: 5 } }],
  })
  const marks = () =>
    inStore(place, async ({ ledger }) => {
      const read = (day: Day) => ledger.read({ zone, day, sink: 'archive' })
      return new Map<Day, Removed | undefined>(
        await Promise.all(days.map(async (day) => [day, (await read(day))?.removed] as const)),
      )
    })
  const expectTold = async (after: string) => {
    const isMarked = await marks()
    for (const day of days) {
      const isWhole = files(day).length === before.get(day)
      expect(isWhole || isMarked.get(day) !== undefined, `${day} after ${after}`).toBe(true)
      const audit = await told(place, 'audit', '--zone', '101', '--day', day, '--deep')
      expect(audit.stdout, after).toMatch(isMarked.get(day) ? /were removed after 5 days/ : /files ok|gap/)
      expect(audit.stdout, after).not.toMatch(/files differ|without a line|[1-9] missing/)
    }
  }
  for (const moment of moments) {
    const child = place.entry(['--once', '--kill', moment])
    expect(await child.exited, child.stderr()).toEqual({ code: null, signal: 'SIGKILL' })
    await expectTold(moment)
  }
  const last = place.entry([])
  await waitFor(() => days.flatMap(files).length === 0, { what: () => `no old parts: ${last.stderr()}` })
  expect(await last.kill('SIGTERM'), last.stderr()).toEqual({ code: 0, signal: null })
  await expectTold('the end')
  expect([...(await marks()).values()].every((mark) => mark !== undefined)).toBe(true)
  expect(last.stderr()).not.toMatch(/FileShort|FileCut|FileReplaced|UpkeepFailed/)
})
