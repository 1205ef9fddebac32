import { expect } from 'vitest'
import type { TestProcess } from '../setup/processes.ts'
import type { CrashWorld } from './crash-world.ts'

export type How = 'kill' | 'stop' | 'freeze'

/** Every step of a page's way, with the sink where it matters. */
export const killed = [
  'before:fetch:1',
  'after:fetch:2',
  'before:normalise:3',
  'after:normalise:1',
  'before:rotation:1',
  'after:rotation:2',
  'before:deliver@archive:1',
  'amid:write:1',
  'after:write:2',
  'before:datasync:2',
  'after:datasync:1',
  'after:deliver@archive:2',
  'before:deliver@siem:1',
  'before:post:2',
  'amid:post:3',
  'after:post:2',
  'after:deliver@siem:1',
  'before:deliver@out:1',
  'after:deliver@out:2',
  'before:commit@archive:1',
  'amid:commit@archive:2',
  'after:commit@archive:1',
  'before:commit@siem:2',
  'after:commit@siem:1',
  'amid:commit@out:1',
]

/** `npm run test:long` stops and freezes at every step too. */
export const isLong = process.env['SHIELDLOG_TEST_CRASH'] === 'all'

/** A bound against a hang: one test starts dozens of processes. */
export const timeout = isLong ? 3_600_000 : 600_000

export const stopped = isLong
  ? killed
  : ['before:fetch:2', 'amid:write:1', 'amid:post:1', 'after:deliver@siem:1', 'before:commit:2']

const ends = { kill: { code: null, signal: 'SIGKILL' }, stop: { code: 0, signal: null } } as const

/**
 * Ends one process after the other at these moments. Each first ships everything that the one before it left, which is
 * then held against the API; then there are new events, and on the way with them it ends.
 */
export async function endAt(
  world: CrashWorld,
  how: 'kill' | 'stop',
  moments: readonly string[],
): Promise<void> {
  let before = 'the start'
  for (const moment of moments) {
    const child = world.start(['--rounds', `--${how}`, moment])
    await nextRound(world, child, before)
    const end = await child.exited
    expect(end, `${how} ${moment}: ${child.stderr().slice(-2000)}`).toEqual(ends[how])
    await world.bury()
    before = `${how} ${moment}`
  }
  await drained(world, before)
}

/** Has a process come to the end of its round, and begin the next one with new events. */
export async function nextRound(world: CrashWorld, child: TestProcess, before: string): Promise<void> {
  await child.waitForLine(/^drained$/)
  world.expectWhole(before)
  world.append()
  process.kill(child.pid, 'SIGUSR2')
}

/** A last process that nothing ends. */
export async function drained(world: CrashWorld, before: string): Promise<void> {
  const last = world.start(['--once'])
  const end = await last.exited
  expect(end, `after ${before}: ${last.stderr().slice(-2000)}`).toEqual({ code: 0, signal: null })
  world.expectWhole(before)
}
