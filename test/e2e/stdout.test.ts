import { describe, expect, test } from 'vitest'
import { startProcess } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { waitFor } from '../setup/wait-for.ts'
import { compare, keysOf, type Line } from './shipped.ts'
import { accessKey, endOf, logged, readableDays, simulated, workplace, zones } from './workplace.ts'

function keysFrom(stdout: string): string[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((text) => {
      const line = JSON.parse(text) as Line
      return `${line.zone.id}/${line.time.slice(0, 10)}/${line.id}`
    })
}

describe('stdout', () => {
  test('has each event as a line of JSON and nothing else; logs are on stderr', async () => {
    const place = await workplace({ days: 1500 })
    place.configure({ sinks: [] })
    const ended = await place.once()
    expect(ended.code, ended.stderr).toBe(0)
    const days = readableDays()
    const whole = zones.length * days.length * 1500
    expect(compare(keysFrom(ended.stdout), keysOf(place.simulator, zones, days))).toEqual({
      lines: whole,
      missing: 0,
      repeated: 0,
      strange: 0,
      examples: [],
    })
    expect(logged(ended.stderr).map(({ event }) => event)).toContain('Started')
    const again = await place.once()
    expect(again).toMatchObject({ code: 0, stdout: '' })
  })

  test('a reader that closes the pipe ends the process with code 1 and no stack', async () => {
    const place = await workplace({ days: 3000 })
    place.configure({ sinks: [{ name: 'out', type: 'stdout' }] })
    // The shell tells the code of the first part of the pipe, not that of head.
    const script = `{ "$0" "$@"; echo "code $?" >&2; } | head -n 1`
    const args = [process.execPath, `${projectFolder}src/cli.ts`, 'run', '--once', '-c', place.configFile]
    const { stdout, stderr } = await endOf(startProcess('/bin/sh', ['-c', script, ...args]))
    expect(keysFrom(stdout)).toHaveLength(1)
    expect(stderr).toMatch(/^code 1$/m)
    expect(stderr).not.toMatch(/^\s+at |EPIPE.*\n\s+at|UnhandledPromise/m)
    expect(stderr).toMatch(/stdout/)
    // What nobody read is not counted as delivered.
    const ended = await place.once()
    expect(ended.code, ended.stderr).toBe(0)
    const all = [...keysFrom(stdout), ...keysFrom(ended.stdout)]
    expect(compare(all, keysOf(place.simulator, zones, readableDays()))).toMatchObject({ strange: 0 })
    expect(all.length).toBeGreaterThan(3000)
  })
})

test('npm start needs three variables and no file', async () => {
  const simulator = await simulated({ days: 40 })
  const place = await workplace()
  const child = startProcess('npm', ['start', '--prefix', projectFolder], {
    cwd: place.folder,
    env: {
      SHIELDLOG_API_ACCESS_KEY: accessKey,
      SHIELDLOG_ZONES: '101',
      SHIELDLOG_API_BASE_URL: simulator.url,
      // Only to leave the checkout, and whoever runs beside, alone.
      SHIELDLOG_STATE: `sqlite:${place.database}`,
      SHIELDLOG_SERVER_PORT: '0',
    },
  })
  const lines = () =>
    child
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{'))
  await waitFor(() => lines().length >= 3 * 40, { what: () => `lines: ${child.stderr()}` })
  const expected = keysOf(simulator, [101], readableDays())
  expect(compare(keysFrom(`${lines().join('\n')}\n`), expected)).toMatchObject({
    lines: 120,
    missing: 0,
    strange: 0,
  })
  // Whatever npm makes of it: the process itself is gone with it.
  await child.kill('SIGTERM')
  const asked = simulator.requests.length
  expect(child.stderr()).toContain('Stopped')
  expect(simulator.requests.length).toBe(asked)
})
