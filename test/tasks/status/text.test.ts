import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { version } from '../../../src/assemble/version.ts'
import { statusLines } from '../../../src/tasks/status/text.ts'
import { isGrave } from '../../../src/status/problems.ts'
import type { Status } from '../../../src/status/fleet.ts'
import { day, failing, gap, leftRoute, piped, route, status, statusWith, terminal } from './sample.ts'

const textOf = (of: Status, columns: number, verbose = false) =>
  statusLines(of, terminal(columns), { verbose }).join('\n')

const [worker] = status.workers
const acknowledgedAt = '2026-11-20T09:00:00.000Z'

test('shows a row for each route, and below them what fails', () => {
  expect(textOf(status, 80)).toBe(`\
shieldlog ${version}, process 812 on siem-1, running for 3 d 4 h, 14:03 UTC

zone      sink     state          lag  events today  last event
101 shop  siem     FAILING     12 min       174,021  12 min ago
101 shop  archive  up to date     9 s       182,440  3 s ago
102 blog  archive  up to date    11 s             0  -
102 blog  siem     up to date    11 s             0  -

1 of 4 routes fails. API deadline for 101 shop → siem: in 1 d 21 h.
101 shop → siem fails: https://siem.example/in answered 503: the indexer is not
  available at the moment, try again later; since 13:52, next try 14:04.
12 dead letters in siem (refused, too_large): shieldlog dead-letters list
Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20): 41 %, 1.2 M events, about 8 min
  left.`)
})

test('uses colours only on a terminal with colours, and has the same text without', () => {
  expect(statusLines(status, piped()).join('\n')).not.toContain('\u001B')
  const painted = statusLines(status, terminal(80, true)).join('\n')
  expect(painted).toContain('\u001B[31m')
  expect(stripVTControlCharacters(painted)).toBe(textOf(status, 80))
})

test.each([60, 70, 80, 120, 160])('no line is wider than %i columns', (columns) => {
  const [filtered, skipped, lost] = [1_234_567, 2_345_678, 3_456_789]
  const days = [day({ delivered: 12_345_678, filtered, skipped, lost })]
  const wide = route({ name: 'a-long-name-of-a-zone', sink: 'a-long-name-of-a-sink', days })
  const long = route({ ...failing, name: 'name '.repeat(30), sink: 'a'.repeat(40), gaps: [gap()] })
  for (const routes of [[wide], [...status.routes, long]]) {
    const text = textOf(statusWith({ workers: [], routes }), columns, true)
    expect(text.split('\n').filter((line) => line.length > columns)).toEqual([])
    // What the destination dropped matters more than when the last event was.
    if (columns >= 70 && routes[0] === wide) expect(text).toMatch(/ lost\b/)
  }
})

test('reports first that nothing ships, and how long the API keeps the unread days', () => {
  const text = textOf(statusWith({ workers: [] }), 80)
  expect(text.split('\n').slice(0, 5)).toEqual([
    'Nothing is shipping: no shieldlog process runs on this state.',
    'The API keeps the oldest unfinished day (2026-11-20) until 2026-11-22 11:03 UTC,',
    'in 1 d 21 h.',
    'To start it: shieldlog run',
    '',
  ])
  expect(text).not.toMatch(/up to date|API deadline/)
  expect(text).toContain('101 shop  archive  stopped')
})

const rest = { deadLetters: [], backfills: [] }
const days = [day({ lost: 9 }), day({ day: '2026-11-19', lost: 1, skipped: 1_200 })]
const filtered = route({
  zone: 102,
  name: 'blog',
  sink: 'siem',
  days: [day({ delivered: 0, filtered: 9_458 })],
})
const unknownZone = {
  code: 'zone_gone',
  message:
    'event_logs of account default: the zone is unknown to this account: zone: Shield zone was not found.',
  failures: 3,
  since: '2026-11-20T13:31:00.000Z',
  retryAt: '2026-11-20T14:05:00.000Z',
}

const withoutFiles = Array.from({ length: 60 }, (_, index) => {
  const zone = 101 + index
  const part = `/data/shield_zone=${zone}/day=2026-11-20/000001-20261120T1351${index}Z-a${index}.ndjson`
  const message = `cannot use ${part}: no space left on device (ENOSPC); free space there, or raise the quota`
  const lastError = { ...failing.lastError!, code: 'disk_full', message }
  return route({ zone, name: String(zone), state: 'failing', lastError })
})

test.each<[what: string, Parameters<typeof statusWith>[0], said: readonly (string | RegExp)[]]>([
  [
    'that only a scheduler runs',
    { workers: [{ ...worker!, role: 'scheduler' }] },
    [/^Nothing is shipping: only a scheduler runs on this state, and no worker\.\n/],
  ],
  [
    'the API deadline of a route that is behind',
    { ...rest, routes: [route({ state: 'behind', lagSeconds: 5000 })] },
    ['API deadline for 101 shop → archive: in 2 d 9 h.'],
  ],
  [
    'the earliest API deadline, and how many routes have it, whatever they fail for',
    {
      ...rest,
      routes: [
        failing,
        route({ ...failing, zone: 102, name: 'blog' }),
        route({
          ...failing,
          sink: 'archive',
          lastError: { ...failing.lastError!, code: 'disk_full', message: 'no space left on device' },
        }),
      ],
    },
    ['3 of 3 routes fail. API deadline for 3 routes: in 1 d 21 h.'],
  ],
  [
    'how a paused backfill continues: a resend that was interrupted waits like that',
    { backfills: status.backfills.slice(0, 1).map((each) => ({ ...each, state: 'paused' })) },
    ['Backfill 5f0c1d2e3a (2026-11-18 to 2026-11-20) is paused: shieldlog backfill resume 5f0c1d2e3a'],
  ],
  [
    'that events of a deadline that has passed are lost',
    {
      workers: [],
      routes: [route({ unfinished: { day: '2026-11-17', apiDeadlineAt: '2026-11-18T08:03:12.000Z' } })],
    },
    [
      'The API dropped the oldest unfinished day (2026-11-17) 2 d 6 h ago: its events that were not shipped are lost.',
    ],
  ],
  [
    'which zone is unknown where all its sinks fail for it, and the command that lists zones',
    {
      routes: ['archive', 'siem'].map((sink) =>
        route({ zone: 7, name: '7', sink, state: 'failing', lastError: unknownZone }),
      ),
    },
    [
      '\n7 → 2 sinks fail: the zone is unknown to this account: correct zones (shieldlog zones lists the ids); since 13:31, next try 14:05.',
    ],
  ],
  [
    'once that the disk of a sink is full, however many zones write there, each into files of its own',
    { ...rest, routes: withoutFiles },
    [
      /\n60 of 60 routes fail\..*\n60 zones → archive fail: cannot use \/data: no space left on device \(ENOSPC\); free space there, or raise the quota; since 13:52, next try 14:04\.$/,
    ],
  ],
  [
    'once that the API gives bad pages of several zones, to several sinks',
    {
      ...rest,
      routes: [101, 102].flatMap((zone) =>
        ['archive', 'siem'].map((sink) => {
          const message = `event_logs of account default: page ${zone - 99} of zone ${zone}, 2026-11-20: the answer is invalid JSON at byte ${zone}`
          const lastError = { ...failing.lastError!, code: 'bad_body', message }
          return route({ zone, name: String(zone), sink, state: 'failing', lastError })
        }),
      ),
    },
    [/\n4 of 4 routes fail\..*\n4 routes fail: a page: the answer is invalid JSON at byte 101; since[^\n]*$/],
  ],
  [
    'which file one zone cannot use',
    { ...rest, routes: withoutFiles.slice(0, 1) },
    ['cannot use /data/shield_zone=101/day=2026-11-20/000001-20261120T13510Z-a0.ndjson: no space left'],
  ],
  [
    'each sink that fails, though numbers and paths below its folder alone are different',
    { ...rest, routes: [...withoutFiles.slice(1), { ...withoutFiles[0]!, sink: 'other' }] },
    [/\n59 zones → archive fail: cannot use \/data: .*\n101 → other fails: /],
  ],
  [
    'that a sink filters all events of today',
    { routes: [route(), filtered] },
    [/^102 blog +siem .* 0 +9,458 /m, 'siem: all 9,458 events today were filtered.'],
  ],
  [
    'that a destination dropped or takes no more events, each with a column of all current days',
    { routes: [route({ sink: 'otel', days })] },
    [
      /^zone .* skipped +lost /m,
      /^101 shop +otel .* 1,200 +10 /m,
      'otel dropped 10 events that it had accepted.',
    ],
  ],
  [
    'how many processes a fleet has',
    { workers: [worker!, { ...worker!, pid: 9, host: 'siem-2', startedAt: '2026-11-20T14:00:00.000Z' }] },
    [/, 2 processes, the oldest running for 3 d 4 h, /],
  ],
])('says %s', (_, changes, said) => {
  const text = textOf(statusWith(changes), 160)
  for (const each of said)
    if (typeof each === 'string') expect(text).toContain(each)
    else expect(text).toMatch(each)
})

test('says nothing of deadlines, filters and losses of a healthy route', () => {
  const healthy = statusWith({ ...rest, routes: [route()] })
  expect(textOf(healthy, 160)).not.toMatch(/deadline|fail|loses|lost|filtered/i)
  expect(statusLines(healthy, terminal(160), { hasFilter: true }).join('\n')).toMatch(/^zone .* filtered /m)
  const some = { ...filtered, days: [day({ delivered: 1, filtered: 9_457 })] }
  expect(textOf(statusWith({ routes: [some] }), 160)).not.toContain('all 9')
})

test('shows days, gaps, processes and ended backfills only with --verbose', () => {
  const full = statusWith({
    routes: [route({ gaps: [gap({ acknowledgedAt })], days: [day(), day({ day: '2026-11-19' })] })],
  })
  const [short, long] = [textOf(full, 80), textOf(full, 80, true)]
  for (const text of ['2026-11-19', 'finished01', 'since 2026-11-17T10:00:00', 'gap 2026-11-17']) {
    expect(short).not.toContain(text)
    expect(long).toContain(text)
  }
})

test('says of what left the configuration what was read and what was not, and what to do', () => {
  const unfinished = {
    unfinishedDays: ['2026-11-18', '2026-11-19', '2026-11-20'],
    unreadDays: ['2026-11-20'],
  }
  const unconfigured = [
    leftRoute({ zone: 8, ...unfinished }),
    leftRoute({ zone: 9, ...unfinished }),
    leftRoute({ zone: 10, sink: 'lake', unfinishedDays: ['2026-11-19'], left: 'zone' }),
    leftRoute({ zone: 11, ...unfinished, retired: true }),
    leftRoute({ zone: 12, retired: true }),
  ]
  const text = textOf(statusWith({ unconfigured }), 160).replaceAll(/\n */g, ' ')
  for (const said of [
    'Sink siem (2 zones) is not configured any more; not read to the end: 2026-11-20; read, but not read again for late events: 2026-11-18 to 2026-11-19 (2 days). To finish these days, configure it again. If it has a new name: shieldlog state rename-sink siem NEW. If it was removed for good: shieldlog state forget-sink siem.',
    'Zone 10 (→ lake) is not configured any more; read, but not read again for late events: 2026-11-19. To finish these days, configure it again. If it was removed for good: shieldlog state forget-zone 10.',
    'Zone 11 (→ siem) is retired: the API lists it no more; not read to the end: 2026-11-20; read, but not',
  ])
    expect(text).toContain(said)
  expect(text).not.toContain('Zone 12')
  expect(textOf(statusWith({ unconfigured }), 160, true)).toMatch(/Zone 12 .* is retired: .*no day was left/)
})

test('escapes control characters', () => {
  const hostile = 'x\u001B]0;title\u0007\n\u202E' + 'long '.repeat(200)
  const error = { ...failing.lastError!, message: hostile }
  const hostileStatus = statusWith({
    routes: [route({ state: 'failing', name: hostile, sink: hostile, lastError: error, gaps: [gap()] })],
    workers: [{ role: 'all', name: hostile }],
    unconfigured: [leftRoute({ zone: 8, sink: hostile, unfinishedDays: ['2026-11-19'], left: 'zone' })],
    deadLetters: [{ sink: hostile, reason: 'refused', count: 2, bytes: 900 }],
  })
  for (const text of [
    textOf(hostileStatus, 80, true),
    statusLines(hostileStatus, piped(), { verbose: true }).join('\n'),
  ]) {
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
    expect(text).toContain('Zone 8 (→')
  }
})

const lossless = { routes: [route()] }

test.each<[what: string, code: number, Parameters<typeof statusWith>[0]]>([
  ['a route fails', 1, {}],
  ['all is well', 0, lossless],
  ['nothing ships', 1, { ...lossless, workers: [] }],
  ['lost days are not acknowledged', 1, { routes: [route({ gaps: [gap()] })] }],
  ['they are acknowledged', 0, { routes: [route({ gaps: [gap({ acknowledgedAt })] })] }],
  ['those of a route that left are not', 1, { ...lossless, lost: [gap()] }],
])('where %s the exit code is %i', (_, code, changes) => {
  expect(Number(statusWith(changes).problems.some(isGrave))).toBe(code)
})

test('says lost days first, until they are acknowledged', () => {
  const lostDays = ['2026-11-15', '2026-11-16', '2026-11-18'].map((each) => gap({ day: each }))
  const lost = [route({ gaps: [...lostDays, gap({ day: '2026-11-18', reason: 'not_running' })] })]
  const text = textOf(statusWith({ routes: lost, lost: [gap()], workers: [] }), 160)
  expect(text.replaceAll('\n  ', ' ').split('\n').slice(0, 3)).toEqual([
    '2 routes: events of 2026-11-15 to 2026-11-18 (4 days) were lost, because the day was not read to its end before the API stopped listing it: shieldlog gaps list',
    '101 shop → archive: events of 2026-11-18 were lost, because no shieldlog process ran while the API listed the day: shieldlog gaps list',
    '',
  ])
  expect(text.split('\n\n')[1]).toMatch(/^Nothing is shipping/)
  const known = lostDays.map((each) => ({ ...each, acknowledgedAt }))
  expect(textOf(statusWith({ routes: [route({ gaps: known })] }), 160)).not.toMatch(/lost/)
})

/** Routes to `siem` that the API refuses, and healthy ones. */
function fleet(failing: number, healthy: number) {
  const lastError = {
    ...unknownZone,
    code: 'unauthorised',
    message:
      'event_logs of account default: the API refuses the access key (401); check api.accessKeyFile: Unauthorized; The access key is missing or not valid.',
  }
  const good = Array.from({ length: healthy }, (_, index) => route({ zone: 1000 + index, name: '' }))
  const bad = Array.from({ length: failing }, (_, index) =>
    route({ zone: 5000 + index, name: '', sink: 'siem', state: 'failing', lastError }),
  )
  return statusWith({ routes: [...good, ...bad], ...rest })
}

test('has one line for one cause, in words of the user, however many routes have it', () => {
  const text = textOf(fleet(300, 100), 160)
  expect(text.match(/refuses the access key/g)).toHaveLength(1)
  expect(text).toContain(
    '\n300 zones → siem fail: the API refuses the access key (401); check api.accessKeyFile; since 13:31, next try 14:05.',
  )
})

test('shows at most a screen of routes, failing ones first, unless --verbose', () => {
  const rowsOf = (lines: readonly string[]) =>
    lines.flatMap((line) => (/^\d{4} /.test(line) ? [line.slice(0, 4)] : []))
  const many = fleet(3, 397)
  const screen = statusLines(many, terminal(100, false, 30))
  expect(screen.length).toBeLessThan(30)
  expect(rowsOf(screen).slice(0, 4)).toEqual(['5000', '5001', '5002', '1000'])
  const left = 400 - rowsOf(screen).length
  expect(screen).toContain(`and ${left} more routes: --verbose`)
  expect(rowsOf(statusLines(many, piped()))).toHaveLength(40)
  expect(rowsOf(statusLines(many, piped(), { verbose: true }).slice(0, 404))).toHaveLength(400)
  expect(rowsOf(statusLines(many, terminal(100, false, 8)))).toHaveLength(5)
})
