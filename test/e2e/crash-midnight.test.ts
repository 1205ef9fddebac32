import { expect, test } from 'vitest'
import { dayOf, endOf as endOfDay, shiftDay, startOf } from '../../src/domain/day.ts'
import { clockArguments, createShiftedClock } from '../entry/shifted-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { crashWorld, type CrashWorld, thaw, zone } from './crash-world.ts'
import { logged } from './workplace.ts'

const today = dayOf(Date.now())
const tomorrow = shiftDay(today, 1)

/** One process at that offset to this host's clock, ended or held as told. Returns what it said. */
async function ship(world: CrashWorld, offsetMs: number, ...args: readonly string[]): Promise<string> {
  const child = world.start(['--once', ...args, ...clockArguments({ offsetMs })])
  await waitFor(() => !child.isRunning(), { what: () => `its end: ${child.stderr().slice(-2000)}` })
  const end = await child.exited
  const expected = args.includes('--kill') ? { code: null, signal: 'SIGKILL' } : { code: 0, signal: null }
  expect(end, child.stderr().slice(-2000)).toEqual(expected)
  await world.bury()
  return child.stderr()
}

// The pump, not the store, decides what midnight changes.
test('around midnight, killed before it, frozen across it, killed after it: nothing lost, nothing twice', async () => {
  const world = await crashWorld()
  const { days, place } = world
  const { simulator } = place
  // So long before that the slowest machine is through with the first two runs by then.
  const begunMs = Date.now()
  const earlyMs = endOfDay(today) - 1_800_000 - begunMs
  simulator.set({ clock: createShiftedClock({ offsetMs: earlyMs }) })
  await ship(world, earlyMs)
  world.expectWhole('the day before')
  simulator.append(zone, today, 7, { timestampMs: Date.now() + earlyMs })
  await ship(world, earlyMs, '--kill', 'after:deliver@archive:1')
  const beforeMs = endOfDay(today) - 8_000 - Date.now()
  simulator.set({ clock: createShiftedClock({ offsetMs: beforeMs }) })
  const appendLate = () => simulator.append(zone, today, 7, { timestampMs: endOfDay(today) - 1 })
  appendLate()
  const frozen = world.start([
    '--once',
    '--freeze',
    'amid:write:1',
    ...clockArguments({ offsetMs: beforeMs }),
  ])
  await frozen.waitForLine(/^frozen$/)
  await waitFor(() => Date.now() + beforeMs > startOf(tomorrow), { what: 'midnight' })
  days.push(tomorrow)
  world.append([tomorrow])
  appendLate()
  await thaw(frozen)
  // The oldest day became unreadable meanwhile; there was nothing new in it.
  await waitFor(() => !frozen.isRunning(), {
    what: () => `the end of what was frozen: ${frozen.stderr().slice(-2000)}`,
  })
  await world.bury()
  const afterMs = startOf(tomorrow) + 2_000 - begunMs
  simulator.set({ clock: createShiftedClock({ offsetMs: afterMs }) })
  for (const moment of ['before:rotation:1', 'before:commit@archive:1', 'amid:commit@siem:1']) {
    world.append([tomorrow, today])
    await ship(world, afterMs, '--kill', moment)
  }
  const said = await ship(world, afterMs)
  world.expectWhole('midnight')
  const gaps = logged(said).filter(({ event }) => event === 'GapFound')
  expect(gaps).toEqual([])
})
