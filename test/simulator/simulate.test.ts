import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'undici'
import { loadConfig } from '../../src/config/load.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { expect, onTestFinished, test } from 'vitest'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { pathOf } from './asking.ts'
import { simulate, type SimulateOptions } from '../../src/commands/simulate.ts'
import { executeWith } from '../commands/workshop.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'

const simulateDefaults = {
  host: '127.0.0.1',
  port: 0,
  zones: [101, 102],
  days: 3,
  entries: 1000,
  rate: 1,
  pageSize: 1000,
  order: 'oldest-first',
  firstPage: 'omit',
  lastToken: 'empty',
  accessKey: 'simulator',
  seed: 1,
  latencyMs: 0,
  faults: [],
} satisfies SimulateOptions

async function run(options: Partial<SimulateOptions>) {
  const lines: string[] = []
  const stop = new AbortController()
  const stdout = { write: (line: string) => lines.push(line.trimEnd()) }
  const done = simulate({ ...simulateDefaults, ...options }, createFakeClock(), {
    stdout,
    signal: stop.signal,
  })
  done.catch(() => undefined)
  onTestFinished(async () => {
    stop.abort()
    await done.catch(() => undefined)
  })
  return { lines, stop, done }
}

test('lists the same entries after a restart with the same time of start, the new ones included', async () => {
  const startedAt = createFakeClock().now() - 90_000
  const listed = async () => {
    const { lines, stop, done } = await run({ startedAt, rate: 2 })
    await expect.poll(() => lines.at(-1)).toBe('Ctrl-C stops it')
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(lines[0] ?? '')?.[0] ?? ''
    const answer = await fetch(url + pathOf(null), { headers: { AccessKey: 'simulator' } })
    const text = await answer.text()
    stop.abort()
    await done
    return text
  }
  const first = await listed()
  expect(first).toContain('logId')
  expect(await listed()).toBe(first)
})

test('writes a configuration for itself, with a separate state and sink', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'sim.yaml')
  const options = { zones: [5, 6], accessKey: 'it"s ${x}', firstPage: 'start', days: 5, writeConfig: file }
  const { lines } = await run(options)
  await expect.poll(() => lines.at(-1)).toBe('Ctrl-C stops it')
  expect(lines.at(-2)).toBe(`  shieldlog run -c ${file}`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { config, warnings } = loadConfig({ argv: { config: file }, env: {} })
  expect(warnings).toEqual([])
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(lines[0] ?? '')?.[0]
  expect(config.api).toMatchObject({ baseUrl: url, firstPage: 'start' })
  expect(config.accounts[0]?.accessKey.reveal()).toBe('it"s ${x}')
  expect(config.accounts[0]?.zones.map(({ id }) => id)).toEqual([5, 6])
  expect(config.poll.readableDays).toBe(5)
  expect(config.state).toMatchObject({ path: join(folder, 'sim-data/shieldlog.db') })
  expect(config.sinks).toMatchObject([{ type: 'file', path: join(folder, 'sim-data/events') }])
})

test('never overwrites a file with its configuration, and reports a path that it cannot write', async () => {
  const file = join(temporaryFolder(), 'sim.yaml')
  const first = await run({ writeConfig: file })
  await expect.poll(() => first.lines.length).toBeGreaterThan(0)
  const text = readFileSync(file, 'utf8')
  const second = await run({ writeConfig: file })
  await expect(second.done).rejects.toThrow(
    `${file} exists already. Remove it, or use another file with --write-config.`,
  )
  expect(readFileSync(file, 'utf8')).toBe(text)
  const nowhere = await run({ writeConfig: join(file, 'sim.yaml') })
  await expect(nowhere.done).rejects.toThrow('cannot be written')
})

test('serves until it is stopped, and asks for its key', async () => {
  const { lines, stop, done } = await run({
    entries: 7,
    zones: [5, 6],
    accessKey: "it's",
    firstPage: 'start',
    days: 5,
  })
  await expect.poll(() => lines.at(-1)).toBe('Ctrl-C stops it')
  expect(lines.at(-2)).toBe("key it's; --write-config FILE writes a configuration for it")
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(lines[0] ?? '')?.[0] ?? ''
  const agent = new Agent()
  onTestFinished(() => agent.destroy())
  const ask = (accesskey: string) =>
    agent.request({
      origin: url,
      path: '/shield/event-logs/6/11-16-2026/start',
      method: 'GET',
      headers: { accesskey },
    })
  const page = (await (await ask("it's")).body.json()) as { logs: unknown[] }
  expect(page.logs).toHaveLength(7)
  const refused = await ask('other')
  await refused.body.dump()
  expect(refused.statusCode).toBe(401)
  stop.abort()
  await done
  await expect(ask("it's")).rejects.toThrow()
})

test.each([
  ['--faults throttled,nope', 2, /use throttled,/],
  ['--faults constructor', 2, /use throttled,/],
  ['--zones ,', 2, /at least one zone/],
  ['--days 0', 2, /at least 1/],
  ['--page-size 0', 2, /pageSize is 0/],
  ['--rate -1', 2, /ratePerSecond is -1/],
  ['--port 99999', 2, /port/],
  ['--started-at 2999-01-01T00:00:00Z', 2, /it takes a past time in UTC/],
])('refuses %s', async (args, code, message) => {
  const { stderr, code: ended } = await executeWith('', ['simulate', ...args.split(' ')])
  expect([ended, stderr]).toEqual([code, expect.stringMatching(message)])
})

test('ends where its port is in use, and where it was stopped before it began', async () => {
  const other = await startSimulator()
  onTestFinished(() => other.close())
  await expect((await run({ port: other.port })).done).rejects.toThrow(/port \d+ is in use/)
  const signal = AbortSignal.abort()
  await simulate(simulateDefaults, createFakeClock(), { stdout: { write: () => undefined }, signal })
})

test('listens at the configured address, and prints one that works from this host', async () => {
  const { lines } = await run({ host: '0.0.0.0', entries: 1 })
  await expect.poll(() => lines.at(-1)).toBe('Ctrl-C stops it')
  expect(lines[0]).toMatch(/^simulator listens at http:\/\/127\.0\.0\.1:\d+$/)
  const elsewhere = await run({ host: 'localhost' })
  await expect.poll(() => elsewhere.lines[0]).toMatch(/^simulator listens at http:\/\/localhost:\d+$/)
  const nowhere = await run({ host: '192.0.2.1' })
  await expect(nowhere.done).rejects.toThrow(
    /^cannot listen on 192\.0\.2\.1: .*; choose an address of this host/,
  )
})
