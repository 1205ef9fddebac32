import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { statusExitCode } from '../../../src/commands/status/standing.ts'
import { statusLines } from '../../../src/commands/status/text.ts'
import type { Status } from '../../../src/domain/status/status.ts'
import { day, failing, piped, route, status, terminal } from './sample.ts'

const textOf = (of: Status, columns: number, verbose = false) =>
  statusLines(of, terminal(columns), { verbose }).join('\n')

test('shows one row per route, with notes below the rows on 80 columns', () => {
  expect(textOf(status, 80)).toBe(`\
shieldlog ${versionOf(status)}, process 812 on siem-1, running for 3 d 4 h${' '.repeat(roomOf(80))}14:03 UTC

zone      sink     state          lag  events today  last event
101 shop  archive  up to date     9 s       182,440  3 s ago
101 shop  siem     FAILING     12 min       174,021  12 min ago
    https://siem.example/in answered 503: the indexer is not available at the
    moment, try again later; 6 tries since 13:52, next try 14:04
102 blog  archive  up to date    11 s             0  -
102 blog  siem     up to date    11 s             0  -

1 of 4 routes fails. API deadline for 101 shop → siem: in 1 d 21 h.
Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20): 41 %, 1.2 M events, about 9 min
left.
12 dead letters in siem: shieldlog dead-letters list`)
})

function versionOf(of: Status): string {
  return /^shieldlog (\S+),/.exec(textOf(of, 80))?.[1] ?? ''
}

function roomOf(columns: number): number {
  return (
    columns - `shieldlog ${versionOf(status)}, process 812 on siem-1, running for 3 d 4 h14:03 UTC`.length
  )
}

test('shows notes in the last column on 120 columns, wrapped at words', () => {
  const lines = textOf(status, 120).split('\n')
  expect(lines[0]).toMatch(/ 2026-11-20 14:03 UTC$/)
  expect(lines[0]).toHaveLength(120)
  expect(lines.slice(2, 8)).toEqual([
    'zone      sink     state          lag  events today  last event  note',
    '101 shop  archive  up to date     9 s       182,440  3 s ago',
    '101 shop  siem     FAILING     12 min       174,021  12 min ago  https://siem.example/in answered 503: the indexer is',
    expect.stringMatching(/^ {65}not available at the moment, try again later; 6 tries$/),
    expect.stringMatching(/^ {65}since 13:52, next try 14:04$/),
    '102 blog  archive  up to date    11 s             0  -',
  ])
})

test.each([60, 80, 120, 160])(
  'keeps every line within %i columns, also with long names and days',
  (columns) => {
    const long = 'name '.repeat(30)
    const many = route({ ...failing, name: long, sink: 'a'.repeat(63), gaps: [gap] })
    const paint = terminal(columns)
    const lines = statusLines({ ...status, workers: [], routes: [...status.routes, many] }, paint, {
      verbose: true,
    })
    expect(lines.filter((line) => line.length > columns)).toEqual([])
  },
)

const gap = {
  day: '2026-11-17',
  from: '2026-11-17T00:00:00.000Z',
  to: '2026-11-18T00:00:00.000Z',
  reason: 'unreadable',
}

test('prints one plain line per route into a pipe', () => {
  const lines = statusLines(status, piped())
  expect(lines.filter((line) => line.startsWith('101 shop'))).toHaveLength(2)
  expect(lines.join('\n')).not.toContain('\u001B')
})

test('uses colours only on a terminal with colours, and has the same text without', () => {
  const painted = statusLines(status, terminal(80, true)).join('\n')
  expect(painted).toContain('\u001B[31m')
  expect(stripVTControlCharacters(painted)).toBe(textOf(status, 80))
})

test('reports first that nothing ships, and how long the API keeps the unread days', () => {
  const stopped = { ...status, workers: [] }
  const [first, ...rest] = statusLines(stopped, terminal(80, true))
  expect(first).toBe('\u001B[31mNothing is shipping: no shieldlog process runs on this state.\u001B[0m')
  expect(rest.slice(0, 3)).toEqual([
    'The API keeps the oldest unread day (2026-11-20) until 2026-11-22 11:03 UTC, in',
    '1 d 21 h.',
    'To start it: shieldlog run',
  ])
  const text = textOf(stopped, 80)
  expect(text).not.toContain('up to date')
  expect(text).toContain('101 shop  archive  stopped')
  expect(text).not.toContain('API deadline')
})

test('reports that nothing ships if only a scheduler runs', () => {
  const [worker] = status.workers
  expect(textOf({ ...status, workers: [{ ...worker!, role: 'scheduler' }] }, 80)).toMatch(
    /^Nothing is shipping: only a scheduler runs on this state, and no worker\.\n/,
  )
})

test('shows an API deadline only if a route fails or is behind', () => {
  const healthy = { ...status, routes: [route()], deadLetters: [], backfills: [] }
  expect(textOf(healthy, 80)).not.toMatch(/deadline|fail|loses/i)
  const behind = { ...healthy, routes: [route({ state: 'behind', lagSeconds: 5000 })] }
  expect(textOf(behind, 80)).toContain('API deadline for 101 shop → archive: in 2 d 9 h.')
})

test('shows days, gaps, processes and ended backfills only with --verbose', () => {
  const full = { ...status, routes: [route({ gaps: [gap], days: [day(), day({ day: '2026-11-19' })] })] }
  const [short, long] = [textOf(full, 80), textOf(full, 80, true)]
  for (const text of ['2026-11-19', 'finished01', 'since 2026-11-17T10:00:00', 'gap 2026-11-17']) {
    expect(short).not.toContain(text)
    expect(long).toContain(text)
  }
  expect(short).toContain('1 gap: see --verbose')
})

test('tells a route that left the configuration from a zone that the API lists no more', () => {
  const unread = { sink: 'siem', unfinishedDays: ['2026-11-19'] }
  const unconfigured = [
    { zone: 8, ...unread },
    { zone: 9, ...unread, retired: true as const },
    { zone: 10, sink: 'siem', unfinishedDays: [], retired: true as const },
  ]
  const text = textOf({ ...status, unconfigured }, 160)
  expect(text).toContain('Zone 8 → siem is not configured; unread: 2026-11-19.')
  expect(text).toContain(
    'Zone 9 → siem is retired: the API lists the zone no more, so it is not shipped any more; not read to the end: 2026-11-19',
  )
  expect(text).not.toContain('Zone 10')
  expect(textOf({ ...status, unconfigured }, 160, true)).toMatch(
    /Zone 10 → siem is retired: .*every day was read/,
  )
})

test('escapes control characters', () => {
  const hostile = 'x\u001B]0;title\u0007\n\u202E' + 'long '.repeat(200)
  const error = { ...failing.lastError!, message: hostile }
  const routes = [route({ state: 'failing', name: hostile, sink: hostile, lastError: error, gaps: [gap] })]
  const workers = [{ role: 'all' as const, name: hostile }]
  const unconfigured = [{ zone: 8, sink: hostile, unfinishedDays: ['2026-11-19'] }]
  const deadLetters = [{ sink: hostile, reason: 'refused', count: 2, bytes: 900 }]
  const text = textOf({ ...status, routes, workers, unconfigured, deadLetters }, 80, true)
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect(text).toContain('Zone 8 →')
})

test('has exit code 1 if a route fails or nothing ships, else 0', () => {
  expect(statusExitCode(status)).toBe(1)
  expect(statusExitCode({ ...status, routes: [route()] })).toBe(0)
  expect(statusExitCode({ workers: [], routes: [route()] })).toBe(1)
})

test('names the processes of a fleet together', () => {
  const [first] = status.workers
  const second = { ...first!, pid: 9, host: 'siem-2', startedAt: '2026-11-20T14:00:00.000Z' }
  expect(textOf({ ...status, workers: [first!, second] }, 120)).toMatch(
    /2 processes on siem-1, siem-2, the oldest running for 3 d 4 h/,
  )
})
