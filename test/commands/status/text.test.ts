import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { statusExitCode } from '../../../src/commands/status/route-table.ts'
import { statusLines } from '../../../src/commands/status/text.ts'
import type { Status } from '../../../src/domain/status/status.ts'
import { day, failing, gap, piped, route, status, statusWith, terminal } from './sample.ts'

const textOf = (of: Status, columns: number, verbose = false) =>
  statusLines(of, terminal(columns), { verbose }).join('\n')

test('shows one row per route, with notes below the rows on 80 columns', () => {
  expect(textOf(status, 80)).toBe(`\
shieldlog ${versionOf(status)}, process 812 on siem-1, running for 3 d 4 h${' '.repeat(roomOf(80))}14:03 UTC

zone      sink     state          lag  events today  last event
101 shop  siem     FAILING     12 min       174,021  12 min ago
    https://siem.example/in answered 503: the indexer is not available at the
    moment, try again later; 6 tries since 13:52, next try 14:04
101 shop  archive  up to date     9 s       182,440  3 s ago
102 blog  archive  up to date    11 s             0  -
102 blog  siem     up to date    11 s             0  -

1 of 4 routes fails. API deadline for 101 shop → siem: in 1 d 21 h.
12 dead letters in siem (refused, too_large): shieldlog dead-letters list
Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20): 41 %, 1.2 M events, about 9
  min left.`)
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
  expect(lines.slice(2, 7)).toEqual([
    'zone      sink     state          lag  events today  last event  note',
    '101 shop  siem     FAILING     12 min       174,021  12 min ago  https://siem.example/in answered 503: the indexer is',
    expect.stringMatching(/^ {65}not available at the moment, try again later; 6 tries$/),
    expect.stringMatching(/^ {65}since 13:52, next try 14:04$/),
    '101 shop  archive  up to date     9 s       182,440  3 s ago',
  ])
})

test.each([60, 80, 120, 160])(
  'keeps every line within %i columns, also with long names and days',
  (columns) => {
    const long = 'name '.repeat(30)
    const many = route({ ...failing, name: long, sink: 'a'.repeat(63), gaps: [gap()] })
    const paint = terminal(columns)
    const lines = statusLines(statusWith({ workers: [], routes: [...status.routes, many] }), paint, {
      verbose: true,
    })
    expect(lines.filter((line) => line.length > columns)).toEqual([])
  },
)

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
  const stopped = statusWith({ workers: [] })
  const [first, ...rest] = statusLines(stopped, terminal(80, true))
  expect(first).toBe('\u001B[31mNothing is shipping: no shieldlog process runs on this state.\u001B[0m')
  expect(rest.slice(0, 3)).toEqual([
    'The API keeps the oldest unfinished day (2026-11-20) until 2026-11-22 11:03 UTC,',
    'in 1 d 21 h.',
    'To start it: shieldlog run',
  ])
  const text = textOf(stopped, 80)
  expect(text).not.toContain('up to date')
  expect(text).toContain('101 shop  archive  stopped')
  expect(text).not.toContain('API deadline')
})

test('reports that nothing ships if only a scheduler runs', () => {
  const [worker] = status.workers
  expect(textOf(statusWith({ workers: [{ ...worker!, role: 'scheduler' }] }), 80)).toMatch(
    /^Nothing is shipping: only a scheduler runs on this state, and no worker\.\n/,
  )
})

test('shows an API deadline only if a route fails or is behind', () => {
  const rest = { deadLetters: [], backfills: [] }
  const healthy = statusWith({ ...rest, routes: [route()] })
  expect(textOf(healthy, 80)).not.toMatch(/deadline|fail|loses/i)
  const behind = statusWith({ ...rest, routes: [route({ state: 'behind', lagSeconds: 5000 })] })
  expect(textOf(behind, 80)).toContain('API deadline for 101 shop → archive: in 2 d 9 h.')
})

test('shows days, gaps, processes and ended backfills only with --verbose', () => {
  const acknowledged = gap({ acknowledgedAt: '2026-11-20T09:00:00.000Z' })
  const full = statusWith({
    routes: [route({ gaps: [acknowledged], days: [day(), day({ day: '2026-11-19' })] })],
  })
  const [short, long] = [textOf(full, 80), textOf(full, 80, true)]
  for (const text of ['2026-11-19', 'finished01', 'since 2026-11-17T10:00:00', 'gap 2026-11-17']) {
    expect(short).not.toContain(text)
    expect(long).toContain(text)
  }
})

test('says how a paused backfill continues: a resend that was interrupted waits like that', () => {
  const backfills = status.backfills.map((each) => ({ ...each, state: 'paused' }))
  const text = textOf(statusWith({ backfills: backfills.slice(0, 1) }), 120)
  expect(text).toContain(
    'Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20) is paused: shieldlog backfill resume 5f0c1d2e3a',
  )
})

test('says of what left the configuration what was read and what was not, and what to do', () => {
  const left = (zone: number, changes: object = {}) => ({
    zone,
    sink: 'siem',
    unfinishedDays: ['2026-11-18', '2026-11-19', '2026-11-20'],
    unreadDays: ['2026-11-20'],
    goneDays: [] as string[],
    left: 'sink' as const,
    gaps: [],
    ...changes,
  })
  const unconfigured = [
    left(8),
    left(9),
    left(10, { sink: 'lake', unreadDays: [], goneDays: [], unfinishedDays: ['2026-11-19'], left: 'zone' }),
    left(13, {
      sink: 'gone',
      goneDays: ['2026-11-18'],
      unreadDays: ['2026-11-18'],
      unfinishedDays: ['2026-11-18'],
    }),
    left(11, { retired: true }),
    left(12, { retired: true, unfinishedDays: [], unreadDays: [] }),
  ]
  const text = textOf(statusWith({ unconfigured }), 160)
  expect(text.replaceAll(/\n */g, ' ')).toContain(
    'Sink siem (2 zones) is not configured any more; not read to the end: 2026-11-20; read, but not read again for late events: 2026-11-18 to 2026-11-19 (2 days). To finish these days, configure it again. If it has a new name: shieldlog state rename-sink siem NEW.',
  )
  expect(text.replaceAll(/\n */g, ' ')).toContain(
    'Zone 10 (→ lake) is not configured any more; read, but not read again for late events: 2026-11-19. To finish these days, configure it again.',
  )
  expect(text.replaceAll(/\n */g, ' ')).toContain(
    'Sink gone (zone 13) is not configured any more; not read to the end, and the API no longer lists it: 2026-11-18. If it has a new name: shieldlog state rename-sink gone NEW.',
  )
  expect(text).toMatch(/Zone 11 \(→ siem\) is retired: .*no longer lists it: 2026-11-20; read, but not/)
  expect(text).not.toContain('Zone 12')
  expect(textOf(statusWith({ unconfigured }), 160, true)).toMatch(/Zone 12 .* is retired: .*no day was left/)
})

test('escapes control characters', () => {
  const hostile = 'x\u001B]0;title\u0007\n\u202E' + 'long '.repeat(200)
  const error = { ...failing.lastError!, message: hostile }
  const routes = [route({ state: 'failing', name: hostile, sink: hostile, lastError: error, gaps: [gap()] })]
  const workers = [{ role: 'all' as const, name: hostile }]
  const unfinished = ['2026-11-19']
  const unconfigured = [
    {
      zone: 8,
      sink: hostile,
      unfinishedDays: unfinished,
      unreadDays: unfinished,
      goneDays: [],
      left: 'zone' as const,
      gaps: [],
    },
  ]
  const deadLetters = [{ sink: hostile, reason: 'refused' as const, count: 2, bytes: 900 }]
  const text = textOf(statusWith({ routes, workers, unconfigured, deadLetters }), 80, true)
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect(text).toContain('Zone 8 (→')
})

test('has exit code 1 if a route fails, nothing ships or lost days are not acknowledged, else 0', () => {
  expect(statusExitCode(status)).toBe(1)
  const codeOf = (...changes: Parameters<typeof statusWith>) => statusExitCode(statusWith(...changes))
  expect(codeOf({ routes: [route()] })).toBe(0)
  expect(codeOf({ workers: [], routes: [route()] })).toBe(1)
  expect(codeOf({ routes: [route({ gaps: [gap()] })] })).toBe(1)
  expect(codeOf({ routes: [route({ gaps: [gap({ acknowledgedAt: status.at })] })] })).toBe(0)
  const left = {
    zone: 9,
    sink: 'old',
    unfinishedDays: [],
    unreadDays: [],
    goneDays: [],
    left: 'sink' as const,
    gaps: [gap()],
  }
  expect(codeOf({ routes: [route()], unconfigured: [left] })).toBe(1)
})

test('says lost days first, until they are acknowledged', () => {
  const days = ['2026-11-15', '2026-11-16', '2026-11-18'].map((each) => gap({ day: each }))
  const lost = [route({ gaps: [...days, gap({ day: '2026-11-18', reason: 'not_running' })] })]
  const left = {
    zone: 9,
    sink: 'old',
    unfinishedDays: [],
    unreadDays: [],
    goneDays: [],
    left: 'sink' as const,
    gaps: [gap()],
  }
  const text = textOf(statusWith({ routes: lost, unconfigured: [left], workers: [] }), 160)
  expect(text.split('\n').slice(0, 4)).toEqual([
    'Events of 4 days were lost on 2 routes: shieldlog gaps list',
    '  2 routes: events of 2026-11-15 to 2026-11-18 (4 days) were lost, because the day was not read to its end before the API stopped listing it.',
    '  101 shop → archive: events of 2026-11-18 were lost, because no shieldlog process ran while the API listed the day.',
    '',
  ])
  expect(text.split('\n')[4]).toMatch(/^Nothing is shipping/)
  const known = days.map((each) => ({ ...each, acknowledgedAt: status.at }))
  expect(textOf(statusWith({ routes: [route({ gaps: known })] }), 160)).not.toMatch(/lost/)
})

test('says of a deadline that has passed that the events are lost', () => {
  const passed = route({ unfinished: { day: '2026-11-17', apiDeadlineAt: '2026-11-18T08:03:12.000Z' } })
  expect(textOf(statusWith({ routes: [passed], workers: [] }), 160)).toContain(
    'The API dropped the oldest unfinished day (2026-11-17) 2 d 6 h ago: its events that were not shipped are lost.',
  )
})

/** Routes to `siem` that the API refuses, and healthy ones. */
function fleet(failing: number, healthy: number) {
  const lastError = {
    code: 'unauthorised',
    message:
      'event_logs of account default: the API refuses the access key (401); check api.accessKeyFile: Unauthorized; The access key is missing or not valid.',
    failures: 3,
    since: '2026-11-20T13:31:00.000Z',
    retryAt: '2026-11-20T14:05:00.000Z',
  }
  const good = Array.from({ length: healthy }, (_, index) => route({ zone: 1000 + index, name: '' }))
  const bad = Array.from({ length: failing }, (_, index) =>
    route({ zone: 5000 + index, name: '', sink: 'siem', state: 'failing', lastError }),
  )
  return statusWith({ routes: [...good, ...bad], deadLetters: [], backfills: [] })
}

test('has one line for one cause, in words of the user, however many routes have it', () => {
  const text = textOf(fleet(300, 100), 160)
  expect(text.match(/refuses the access key/g)).toHaveLength(1)
  expect(text).toContain(
    '\n300 zones → siem fail: the API refuses the access key (401); check api.accessKeyFile; since 13:31, next try 14:05.',
  )
  const one = textOf(fleet(1, 1), 160)
  expect(one.match(/refuses the access key/g)).toHaveLength(1)
  expect(one).toMatch(
    /^5000 .*FAILING .* the API refuses the access key \(401\); check api.accessKeyFile; 3 tries/m,
  )
})

test('names the zone that is unknown where all its sinks fail for it, and the command that lists zones', () => {
  const lastError = {
    code: 'zone_gone',
    message:
      'event_logs of account default: the zone is unknown to this account: zone: Shield zone was not found.',
    failures: 3,
    since: '2026-11-20T13:31:00.000Z',
    retryAt: '2026-11-20T14:05:00.000Z',
  }
  const unknown = ['archive', 'siem'].map((sink) =>
    route({ zone: 500101, name: '500101', sink, state: 'failing', lastError }),
  )
  const text = textOf(statusWith({ routes: [...unknown, route()], deadLetters: [], backfills: [] }), 160)
  expect(text).toContain(
    '\n500101 → 2 sinks fail: the zone is unknown to this account: correct zones (shieldlog zones lists the ids); since 13:31, next try 14:05.',
  )
})

test('shows at most a screen of routes, failing ones first, unless --verbose', () => {
  const fleetOf = (rows: number | undefined, verbose = false) =>
    statusLines(fleet(3, 397), rows === undefined ? piped() : terminal(100), { rows, verbose })
  const rowsOf = (lines: readonly string[]) => lines.filter((line) => /^\d{4} /.test(line))
  const screen = fleetOf(30)
  expect(screen.length).toBeLessThan(30)
  expect(
    rowsOf(screen)
      .slice(0, 4)
      .map((line) => line.slice(0, 4)),
  ).toEqual(['5000', '5001', '5002', '1000'])
  const left = 400 - rowsOf(screen).length
  expect(screen).toContain(`and ${left} more routes, all up to date: --verbose`)
  expect(rowsOf(fleetOf(undefined))).toHaveLength(40)
  expect(rowsOf(fleetOf(undefined, true).slice(0, 404))).toHaveLength(400)
  expect(rowsOf(fleetOf(8))).toHaveLength(5)
  const mixed = statusLines(fleet(50, 2), piped())
  expect(mixed).toContain('and 12 more routes, 10 FAILING, 2 up to date: --verbose')
})

test('has a column of filtered events where a sink filters or did, and says so if it filters all', () => {
  const plain = statusWith({ routes: [route()] })
  expect(textOf(plain, 160)).not.toContain('filtered')
  expect(statusLines(plain, terminal(160), { hasFilter: true }).join('\n')).toMatch(/^zone .* filtered /m)
  const all = route({ zone: 102, name: 'blog', sink: 'siem', days: [day({ delivered: 0, filtered: 9_458 })] })
  const text = textOf(statusWith({ routes: [route(), all] }), 160)
  expect(text).toMatch(/^102 blog +siem .* 0 +9,458 /m)
  expect(text).toContain('siem: all 9,458 events today were filtered.')
  const some = { ...all, days: [day({ delivered: 1, filtered: 9_457 })] }
  expect(textOf(statusWith({ routes: [some] }), 160)).not.toContain('all 9')
})

test('says that a destination dropped or takes no more events, each with a column of all current days', () => {
  const days = [day({ lost: 9 }), day({ day: '2026-11-19', lost: 1, skipped: 1_200 })]
  const text = textOf(statusWith({ routes: [route({ sink: 'otel', days })] }), 160)
  expect(text).toMatch(/^zone .* skipped +lost /m)
  expect(text).toMatch(/^101 shop +otel .* 1,200 +10 /m)
  expect(text).toContain('otel dropped 10 events that it had accepted.')
})

test('names the processes of a fleet together', () => {
  const [first] = status.workers
  const second = { ...first!, pid: 9, host: 'siem-2', startedAt: '2026-11-20T14:00:00.000Z' }
  expect(textOf(statusWith({ workers: [first!, second] }), 120)).toMatch(
    /2 processes on siem-1, siem-2, the oldest running for 3 d 4 h/,
  )
})

test.each([60, 70, 80, 100, 160])('no line is wider than %i columns, whatever was left out', (columns) => {
  const [filtered, skipped, lost] = [1_234_567, 2_345_678, 3_456_789]
  const days = [day({ delivered: 12_345_678, filtered, skipped, lost })]
  const wide = route({ name: 'a-long-name-of-a-zone', sink: 'a-long-name-of-a-sink', days })
  const lines = textOf(statusWith({ routes: [wide] }), columns).split('\n')
  expect(lines.filter((line) => line.length > columns)).toEqual([])
  // What the destination dropped matters more than when the last event was.
  if (columns >= 70) expect(lines.join('\n')).toMatch(/ lost\b/)
})
