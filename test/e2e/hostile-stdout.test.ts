import { expect, test } from 'vitest'
import { startProcess, type TestProcess } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { waitFor } from '../setup/wait-for.ts'
import { keyOfLine } from './honesty.ts'
import { compare, compareFiles, exactly, keysOf, linesBelow } from './shipped.ts'
import { endOf, readableDays, workplace, zones, type Workplace } from './workplace.ts'

/** Runs a command with its standard output led elsewhere by the shell; tells its pid and its exit code on stderr. */
function shell(place: Workplace, to: string, ...args: readonly string[]): TestProcess {
  const told = `sh -c 'echo "pid $$" >&2; exec "$0" "$@"' "$0" "$@"; echo "code $?" >&2`
  const all = [process.execPath, `${projectFolder}src/cli.ts`, ...args, '-c', place.configFile]
  return startProcess('/bin/sh', ['-c', `{ ${told}; } ${to}`, ...all])
}

test('a full standard output ends the process with one line, and nothing counts as delivered', async () => {
  const place = await workplace({ days: 50 }, { sinks: [{ name: 'out', type: 'stdout' }] })
  const { stderr } = await endOf(shell(place, '> /dev/full', 'run', '--once'))
  expect(stderr).toMatch(/^code 1$/m)
  expect(stderr).toMatch(/^.*stdout.*ENOSPC.*$/m)
  expect(stderr).not.toMatch(/^\s+at |UnhandledPromise/m)
  const ended = await place.once()
  expect(ended.code, ended.stderr).toBe(0)
  const whole = keysOf(place.simulator, zones, readableDays())
  const shipped = ended.stdout.split('\n').slice(0, -1).map(keyOfLine)
  expect(compare(shipped, whole)).toEqual(exactly(whole.length))
})

test('a reader that stops reading delays neither other sinks nor a stop', async () => {
  const place = await workplace({ days: 500, entryBytes: 2_000 })
  const { simulator, events } = place
  place.configure({
    server: { port: 0 },
    sinks: [
      { name: 'archive', type: 'file', path: events },
      { name: 'out', type: 'stdout' },
    ],
  })
  const child = shell(place, '| { sleep 120 & echo "reader $!" >&2; wait; }', 'run')
  const [, reader] = await child.waitForLine(/^reader (\d+)$/)
  const [, pid] = await child.waitForLine(/^pid (\d+)$/)
  const whole = zones.length * 3 * 500
  try {
    await waitFor(() => linesBelow(events, 'under way').length === whole, {
      what: () => child.stderr(),
    })
    for (const zone of zones) simulator.append(zone, readableDays()[2], 50)
    const all = whole + 100
    await waitFor(() => linesBelow(events, 'under way').length === all, {
      what: () => child.stderr(),
    })
    process.kill(Number(pid), 'SIGTERM')
    // Long before the reader goes away.
    await child.waitForLine(/^code 0$/)
    expect(compareFiles(events, simulator, zones, readableDays())).toEqual(exactly(all))
  } finally {
    process.kill(Number(reader), 'SIGKILL')
  }
  await child.exited
  // What was stuck in the pipe was never read by anybody: it is for the next reader.
  const ended = await place.once()
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.stdout.split('\n').length).toBeGreaterThan(whole / 2)
})
