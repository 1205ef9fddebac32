import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { statusText } from '../../src/commands/status-text.ts'
import { paintFor } from '../../src/commands/terminal/terminal.ts'
import type { Status } from '../../src/domain/plan/status.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openWorkshop, openWorkshopWithApi } from './workshop.ts'

test('tells what a first run would begin with where there is no store, and makes none', async () => {
  const { folder, execute } = openWorkshop()
  const { code, stdout, stderr } = await execute('status', '--json')
  const status = JSON.parse(stdout) as Status
  expect(status.routes.map(({ zone, days }) => [zone, days.length])).toEqual([
    [101, 3],
    [102, 3],
  ])
  expect(status).toMatchObject({ workers: [], backfills: [], deadLetters: [], unconfigured: [] })
  expect(stderr).toMatch(/^there is no store at sqlite:.*yet: nothing was shipped; run makes it\n$/)
  expect([code, existsSync(join(folder, 'var'))]).toEqual([0, false])
})

test('reads beside a running process, names it, and goes on without it', async () => {
  const { execute, start, simulator } = await openWorkshopWithApi({ days: 30, pageSize: 20 })
  simulator.fail({
    match: { zone: 102 },
    times: Infinity,
    fault: {
      kind: 'status',
      status: 400,
      body: '{"title":"no\\u001b[31m \\u202ered"}',
      contentType: 'application/json',
    },
  })
  await using running = start(['run'])
  const read = async () => JSON.parse((await execute('status', '--json')).stdout) as Status
  const status = await waitFor(
    async () => {
      const now = await read()
      const [shop, other] = now.routes
      return shop!.days.every(({ delivered }) => delivered === 30) && other!.lastError !== undefined && now
    },
    { what: () => `all events, from ${running.stderr()}` },
  )
  expect(status.workers).toHaveLength(1)
  expect(status.workers[0]).toMatchObject({ role: 'all' })
  expect(status.workers[0]!.name).toContain(`process ${running.pid} on host `)
  const text = (await execute('status')).stdout
  expect(text).toContain(`shipped by process ${running.pid} on host `)
  expect(text).toMatch(/^zone 101 \(shop\) → archive: up to date\n {2}lag \d+ s, newest event /m)
  expect(text).toMatch(/^zone 102 → archive: failing \(rejected\)$/m)
  expect(text).toMatch(/^ {2}last error: rejected: .*status 400.*since .*again at /ms)
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  await running.kill('SIGTERM')
  const after = await read()
  expect(after.workers).toEqual([])
  expect(after.routes[0]!.days.map(({ delivered }) => delivered)).toEqual([30, 30, 30])
})

const hostile = 'x\u001B]0;title\u0007\n\u202E' + 'long '.repeat(200)

const status: Status = {
  at: '2026-11-20T12:00:00.000Z',
  routes: [
    {
      zone: 7,
      name: hostile,
      account: 'default',
      sink: hostile,
      lagSeconds: 100_000,
      caughtUpAt: '2026-11-19T12:00:00.000Z',
      lastError: {
        code: 'network',
        message: hostile,
        failures: 3,
        since: '2026-11-20T11:00:00.000Z',
        retryAt: '2026-11-20T12:00:30.000Z',
      },
      days: [],
      gaps: [
        {
          day: '2026-11-17',
          from: '2026-11-17T00:00:00.000Z',
          to: '2026-11-18T00:00:00.000Z',
          reason: 'unreadable',
        },
      ],
    },
  ],
  deadLetters: [{ sink: hostile, reason: 'refused', count: 2, bytes: 900 }],
  unconfigured: [{ zone: 8, sink: hostile, unfinishedDays: ['2026-11-19'] }],
  workers: [{ role: 'all', name: hostile }],
  backfills: [],
}

test('keeps to the width of the terminal and prints nothing that moves it', () => {
  const output = { write: () => undefined, isTTY: true, columns: 80, hasColors: () => false }
  const text = statusText(status, paintFor(output))
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect(text).toContain('gap 2026-11-17: 2026-11-17T00:00:00Z to 2026-11-18T00:00:00Z, unreadable')
  expect(text).toContain('again at 2026-11-20T12:00:30Z')
})

test('has colours only where the terminal wants them', () => {
  const output = (isTTY: boolean, colors: boolean) => ({
    write: () => undefined,
    isTTY,
    hasColors: () => colors,
  })
  expect(statusText(status, paintFor(output(true, true)))).toContain('\u001B[31m')
  expect(statusText(status, paintFor(output(true, false)))).not.toContain('\u001B')
  expect(statusText(status, paintFor(output(false, true)))).not.toContain('\u001B')
})
