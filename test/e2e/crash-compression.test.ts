import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { told } from '../tasks/backfill/backfilling.ts'
import { clockArguments, createShiftedClock, todayAt } from '../entry/shifted-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { compare, expectEachOnce, keysOf, linesBelow } from './shipped.ts'
import { readableDays, workplace } from './workplace.ts'

const zone = 101
const moments = [
  'before:compression:1',
  // Whole under its temporary name.
  'before:replacement:1',
  // Both forms stand there.
  'after:replacement:1',
  'after:compression:2',
]

test('killed within a compression: each event once, and no temporary files', async () => {
  // A closed part is compressed a minute later: on this clock within a second.
  const fast = todayAt(2, 120)
  const place = await workplace(
    { zones: [zone], days: 5, clock: createShiftedClock(fast) },
    { zones: [zone] },
  )
  const { simulator, events } = place
  const days = readableDays()
  const rotate = { maxBytes: 2_000 }
  place.configure({ sinks: [{ name: 'archive', type: 'file', path: events, rotate, compress: 'gzip' }] })
  const files = () => globSync(['shield_zone=*/day=*/{*,.*}', '.shieldlog/*.unfinished*'], { cwd: events })
  const expectWhole = () => expectEachOnce(events, simulator, [zone], days)
  for (const moment of moments) {
    const child = place.entry(['--rounds', '--kill', moment, ...clockArguments(fast)])
    await child.waitForLine(/^drained$/)
    expectWhole()
    const standing = keysOf(simulator, [zone], days)
    for (const day of days) simulator.append(zone, day, 8)
    process.kill(child.pid, 'SIGUSR2')
    expect(await child.exited, child.stderr()).toEqual({ code: null, signal: 'SIGKILL' })
    // Perhaps before any of the new events.
    const shipped = linesBelow(events, 'under way').map(({ key }) => key)
    expect(compare(shipped, standing), moment).toMatchObject({ missing: 0, repeated: 0 })
  }
  const last = place.entry(['--rounds', ...clockArguments(fast)])
  await last.waitForLine(/^drained$/)
  for (const day of days) simulator.append(zone, day, 8)
  process.kill(last.pid, 'SIGUSR2')
  // Both forms of a part, or one that is not whole.
  const isLeft = (file: string, _: number, all: readonly string[]) =>
    all.includes(`${file}.gz`) || file.includes('unfinished')
  await waitFor(
    () =>
      last.stderr().split('drained').length > 2 &&
      files().some((file) => file.endsWith('.gz')) &&
      !files().some(isLeft),
    { what: () => `compressed parts and nothing beside them: ${files().join(' ')}` },
  )
  expect(await last.kill('SIGTERM'), last.stderr()).toEqual({ code: 0, signal: null })
  expectWhole()
  const audit = await told(place, 'audit', '--zone', '101', '--day', days[1])
  expect(audit.code, audit.stdout).toBe(0)
})
