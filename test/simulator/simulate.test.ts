import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { dayOf, shiftDay } from '../../src/domain/day.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { executeWith } from '../tasks/workshop.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import { pathOf } from './asking.ts'

const today = dayOf(Date.now())

/** Starts `simulate`, and waits until it serves. */
async function simulate(...args: readonly string[]) {
  const stop = new AbortController()
  let text = ''
  const ended = executeWith('', ['simulate', ...args], {
    stdout: { write: (part) => (text += part) },
    signal: stop.signal,
  })
  const end = async () => {
    stop.abort()
    return (await ended).code
  }
  onTestFinished(async () => void (await end()))
  await waitFor(() => text.includes('Ctrl-C stops it'), { what: 'the simulator' })
  const url = /http:\/\/\S+/.exec(text)?.[0] ?? ''
  const ask = (path: string, key = 'simulator') => fetch(url + path, { headers: { AccessKey: key } })
  return { url, lines: text.split('\n'), ask, end }
}

test('lists the same entries after a restart with the same time of start, the new ones included', async () => {
  const startedAt = new Date(Date.now() - 90_000)
  const listed = async () => {
    const { ask, end } = await simulate('--started-at', startedAt.toISOString(), '--entries', '50')
    const answer = await ask(pathOf(null, { day: dayOf(startedAt.getTime()) }))
    const { logs } = (await answer.json()) as { logs: { logId: string }[] }
    await end()
    return logs.map(({ logId }) => logId)
  }
  const first = await listed()
  expect(first.length).toBeGreaterThan(50)
  expect((await listed()).slice(0, first.length)).toEqual(first)
})

test('writes a configuration for itself, with a separate state and sink', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'sim.yaml')
  const own = ['--zones', '5,6', '--access-key', 'it"s ${x}', '--first-page', 'start', '--days', '5']
  const { url, lines } = await simulate(...own, '--write-config', file)
  expect(lines).toContain(`  shieldlog run -c ${file}`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { config, warnings } = loadConfig({ argv: { config: file }, env: {} })
  expect(warnings).toEqual([])
  expect(config.api).toMatchObject({ baseUrl: url, firstPage: 'start' })
  expect(config.accounts[0]?.accessKey.reveal()).toBe('it"s ${x}')
  expect(config.accounts[0]?.zones.map(({ id }) => id)).toEqual([5, 6])
  expect(config.poll.readableDays).toBe(5)
  expect(config.state).toMatchObject({ path: join(folder, 'sim-data/shieldlog.db') })
  expect(config.sinks).toMatchObject([{ type: 'file', path: join(folder, 'sim-data/events') }])
  const before = readFileSync(file, 'utf8')
  const second = await executeWith('', ['simulate', '--write-config', file])
  const why = `${file} cannot be written: file already exists (EEXIST); use another file with --write-config\n`
  expect(second).toEqual({ code: 1, stdout: '', stderr: why })
  expect(readFileSync(file, 'utf8')).toBe(before)
})

test('serves until it is stopped, and asks for its key', async () => {
  const own = "--entries 7 --zones 5,6 --access-key it's --first-page start --days 5 --host 0.0.0.0"
  const { lines, ask, end } = await simulate(...own.split(' '))
  expect(lines).toContain("key it's; --write-config FILE writes a configuration for it")
  // An address that works from this host.
  expect(lines[0]).toMatch(/^simulator listens at http:\/\/127\.0\.0\.1:\d+$/)
  const path = pathOf('start', { zone: 6, day: shiftDay(today, -4) })
  expect(((await (await ask(path, "it's")).json()) as { logs: unknown[] }).logs).toHaveLength(7)
  expect((await ask(path)).status).toBe(401)
  expect(await end()).toBe(0)
  await expect(ask(path, "it's")).rejects.toThrow()
})

test.each([
  ['--faults throttled,nope', 2, /use throttled,/],
  ['--faults constructor', 2, /use throttled,/],
  ['--days 0', 2, /at least 1/],
  ['--page-size 0', 2, /at least 1/],
  ['--rate x', 2, /use a number/],
  ['--started-at 2999-01-01T00:00:00Z', 2, /it takes a past time in UTC/],
  ['--host 192.0.2.1', 1, /^cannot listen on 192\.0\.2\.1, port 0: .*; choose another --host or --port/],
  ['--write-config /dev/null/sim.yaml', 1, /cannot be written/],
])('refuses %s', async (args, code, message) => {
  const { stderr, code: ended } = await executeWith('', ['simulate', ...args.split(' ')])
  expect([ended, stderr]).toEqual([code, expect.stringMatching(message)])
})

test('ends where its port is in use', async () => {
  const other = await startSimulator()
  onTestFinished(() => other.close())
  const { code, stderr } = await executeWith('', ['simulate', '--port', new URL(other.url).port])
  expect([code, stderr]).toEqual([1, expect.stringMatching(/port \d+: address already in use/)])
})
