import { expect, test } from 'vitest'
import { startProcess, type TestProcess } from '../setup/processes.ts'
import { programFile } from '../setup/program/program-file.ts'
import { waitFor } from '../setup/wait-for.ts'
import { keyOfLine } from './receiver.ts'
import { compare, expectEachOnce, keysOf, linesIn } from './shipped.ts'
import { endOf, readableDays, workplace, zones, type Workplace } from './workplace.ts'

/** Runs a command with its standard output led elsewhere by the shell; tells its pid and its exit code on stderr. */
function shell(place: Workplace, to: string, ...args: readonly string[]): TestProcess {
  const told = `sh -c 'echo "pid $$" >&2; exec "$0" "$@"' "$0" "$@"; echo "code $?" >&2`
  const all = [process.execPath, programFile('cli'), ...args, '-c', place.configFile]
  return startProcess('/bin/sh', ['-c', `{ ${told}; } ${to}`, ...all])
}

const keysFrom = (stdout: string) => stdout.split('\n').slice(0, -1).map(keyOfLine)

test.for([
  ['that is full', '> /dev/full', /^.*stdout.*ENOSPC.*$/m],
  ['whose reader closes it after a line', '| head -n 1', /stdout/],
] as const)(
  'a standard output %s ends the process with code 1 and one line; the rest is delivered later',
  async ([, to, line]) => {
    const place = await workplace({ days: 500 }, { sinks: [{ name: 'out', type: 'stdout' }] })
    const first = await endOf(shell(place, to, 'run', '--once'))
    expect(first.stderr).toMatch(/^code 1$/m)
    expect(first.stderr).toMatch(line)
    expect(first.stderr).not.toMatch(/^\s+at |EPIPE.*\n\s+at|UnhandledPromise/m)
    const read = keysFrom(first.stdout)
    expect(read).toHaveLength(to.startsWith('|') ? 1 : 0)
    const ended = await place.once()
    expect(ended.code, ended.stderr).toBe(0)
    const whole = keysOf(place.simulator, zones, readableDays())
    // What the pipe had taken when its reader went away is lost with it; of a full disk nothing was taken.
    const found = compare([...read, ...keysFrom(ended.stdout)], whole)
    expect(found).toMatchObject({ strange: 0, ...(read.length === 0 && { missing: 0, repeated: 0 }) })
    expect(found.lines).toBeGreaterThan(whole.length / 2)
  },
)

test('a reader that stops reading delays neither other sinks nor a stop', async () => {
  const place = await workplace({ days: 500, entryBytes: 2_000 })
  const { simulator, events } = place
  place.configure({
    sinks: [
      { name: 'archive', type: 'file', path: events },
      { name: 'out', type: 'stdout' },
    ],
  })
  const child = shell(place, '| { sleep 120 & echo "reader $!" >&2; wait; }', 'run')
  const [, reader] = await child.waitForLine(/^reader (\d+)$/)
  const [, pid] = await child.waitForLine(/^pid (\d+)$/)
  const shipped = (count: number) => waitFor(() => linesIn(events) === count, { what: () => child.stderr() })
  const whole = zones.length * 3 * 500
  try {
    await shipped(whole)
    for (const zone of zones) simulator.append(zone, readableDays()[2], 50)
    await shipped(whole + 100)
    process.kill(Number(pid), 'SIGTERM')
    // Long before the reader goes away.
    await child.waitForLine(/^code 0$/)
    expectEachOnce(events, simulator, zones, readableDays())
  } finally {
    process.kill(Number(reader), 'SIGKILL')
  }
  await child.exited
  // What was stuck in the pipe was never read by anybody: it is for the next reader.
  const ended = await place.once()
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.stdout.split('\n').length).toBeGreaterThan(whole / 2)
})
