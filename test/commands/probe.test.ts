import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { errorKey, reset, throttle, type FaultRule } from '../../src/simulator/faults.ts'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import { executeWith, openWorkshopWithApi } from './workshop.ts'

interface Probed {
  readonly isWhole: boolean
  readonly settings: object
  readonly findings: readonly { readonly point: string; readonly found: string }[]
}

async function probe(
  options: SimulatorOptions,
  { api = {}, fault }: { api?: object; fault?: FaultRule } = {},
) {
  const { simulator, configure, execute } = await openWorkshopWithApi({
    days: 250,
    pageSize: 100,
    ...options,
  })
  configure({ api: { baseUrl: simulator.url, accessKey: 'the-key-of-the-test', ...api }, zones: [101] })
  if (fault !== undefined) simulator.fail(fault)
  const args = ['probe', '--zone', '101', '--requests-per-second', '500', '--minutes', '0.005', '--json']
  const { code, stdout, stderr } = await execute(...args)
  expect([code, stderr]).toEqual([0, ''])
  return { ...probedIn(stdout), text: stdout }
}

function probedIn(text: string) {
  const { findings, ...rest } = JSON.parse(text) as Probed
  return { ...rest, found: Object.fromEntries(findings.map(({ point, found }) => [point, found])) }
}

/** Hosts and addresses of the simulator's entries. */
const content = /example\.(?:com|org|net)|198\.1[89]\.|198\.51|secret/
const late = Number.POSITIVE_INFINITY

test.each<[string, SimulatorOptions, object, object]>([
  [
    'of the defaults',
    { live: { ratePerSecond: 100 } },
    {
      'first page': 'omit works, empty is refused (400), start is refused (400)',
      'page size': expect.stringMatching(/^100 events on every page but the last/) as unknown,
      'events of yesterday': '250 events on 3 pages',
      order: 'oldest first',
      'new events turn up': expect.stringMatching(/^\d+ at the end$/) as unknown,
      'later page, read again': expect.stringMatching(
        /^after \d+ s the same, after \d+ s the same$/,
      ) as unknown,
      'token of the last page': 'empty',
      'readable days': expect.stringMatching(/^3; .* is answered 401 invalid_datetime_window/) as unknown,
      clock: 'the same',
      timestamps: 'ms 506',
      log: 'text of JSON 506',
      'unknown names': 'none',
    },
    {},
  ],
  [
    'that is newest first',
    { order: 'newest-first', live: { ratePerSecond: 100 }, lastToken: 'real' },
    {
      order: 'newest first',
      'new events turn up': expect.stringMatching(/^\d+ at the beginning$/) as unknown,
      'first page, read again': expect.stringMatching(/other events/) as unknown,
      'token of the last page': 'one of its own',
    },
    {},
  ],
  [
    'without an order',
    { order: 'unordered', live: { ratePerSecond: 100 }, lastToken: 'null' },
    { order: 'none', 'token of the last page': 'null' },
    {},
  ],
  [
    'with another first page and more days',
    { firstPage: 'empty', readableDays: 5 },
    {
      'first page': 'omit is refused (400), empty works, start is refused (400)',
      'readable days': expect.stringMatching(/^5; /) as unknown,
      'new events turn up': 'none turned up',
    },
    { api: { firstPage: 'empty' }, poll: { readableDays: 5 } },
  ],
])('names the points and the settings of a service %s', async (_, options, found, settings) => {
  const probed = await probe(options)
  expect(probed.found).toMatchObject({
    ...found,
    ...(options.live && { timestamps: expect.any(String) as unknown, log: expect.any(String) as unknown }),
  })
  expect([probed.isWhole, probed.settings]).toEqual([true, settings])
})

test('names tokens that expire', async () => {
  const rule = { match: { operation: 'eventLogs', firstPage: false }, every: 5, times: late } as const
  const { found } = await probe(
    {},
    { fault: { ...rule, fault: errorKey({ errorKey: 'invalid_continuation_token' }) } },
  )
  expect(Object.values(found).join('\n')).toContain('refused')
})

test('ends at the first 429, with what it has found by then, and without content of events', async () => {
  const fault = { match: { operation: 'eventLogs' }, every: 7, fault: throttle({ retryAfter: 30 }) } as const
  const { isWhole, found, text } = await probe({}, { fault })
  expect([isWhole, found['requests']]).toEqual([false, '429 at request 7, at 500 a second; Retry-After: 30'])
  expect(text).not.toMatch(content)
})

test('keeps what it has found when a request gets no answer', async () => {
  const { found, isWhole } = await probe(
    {},
    { fault: { match: { operation: 'eventLogs' }, every: 12, fault: reset() } },
  )
  expect([isWhole, found['requests']]).toEqual([
    false,
    '11 at 500 a second were answered: 9 × 200, 2 × 400; then ended by network',
  ])
})

/** Options of `simulate`, what `probe` then finds, and the settings that follow. */
test.each<[string, string, Record<string, RegExp>, object?]>([
  [
    'events that turn up late',
    '--rate 100 --late-seconds 1',
    { 'new events turn up': /\d+ between others/, 'late events': /^the latest was not listed [\d.]+ min/ },
  ],
  [
    'new events at the end',
    '--rate 100',
    { 'new events turn up': /^\d+ at the end$/, order: /^oldest first$/ },
  ],
  [
    'new events at the beginning, which shift all pages',
    '--rate 100 --order newest-first',
    { 'new events turn up': /^\d+ at the beginning$/, 'first page, read again': /other events/ },
  ],
  ['no order', '--order unordered', { order: /^none$/ }],
  [
    'pages of many sizes',
    '--least-page-size 20',
    { 'page size': /^(?!100)\d+ to \d+ events/, 'later page, read again': /more events|other events/ },
  ],
  [
    'how long a token lives',
    '--token-seconds 1',
    {
      'later page, read again': /^after \d+ s the same events in other bytes, .*after \d+ s refused$/,
      'life of tokens': /^more than 0 s, and less than [12] s$/,
    },
  ],
  [
    'a snapshot, which does not grow',
    '--rate 100 --tokens snapshot',
    { 'later page, read again': /^after \d+ s the same/ },
  ],
  [
    'a first page that is empty',
    '--first-page empty',
    { 'first page': /^empty works, omit is refused/ },
    { api: { firstPage: 'empty' } },
  ],
  [
    'last pages with the token of before',
    '--last-token repeated',
    { 'token of the last page': /^repeated$/ },
  ],
  ['last pages with a token', '--last-token real', { 'token of the last page': /^one of its own$/ }],
  [
    'last pages with null',
    '--last-token null',
    { 'token of the last page': /^null$/, tokens: /^\d+ to \d+ characters: letters, digits, signs \(.*%/ },
  ],
  [
    'headers of limits and caches',
    '--headers ratelimit-remaining=99,cache-control=no-store,x-own=secret',
    { headers: /^ratelimit-remaining: 99; cache-control: no-store; x-own(?:;|$)/ },
  ],
  ['large entries', '--entry-bytes 3000', { entries: /, (?:2[5-9]|3[0-5])\d\d bytes each/ }],
  ['slow answers', '--latency-ms 60', { latency: /^median (?:[6-9]\d|\d{3,}) ms/ }],
  [
    'days of several pages',
    '--days 3',
    { 'events of today': /^250 events on 3 pages$/, 'zones of this size': /\d+ before that/ },
  ],
  ['a compressed answer', '--compress', { headers: /content-encoding: gzip/ }],
  [
    'a clock that is ahead',
    '--clock-offset-seconds 300',
    { clock: /^(?:300\.\d|299\.\d) s from this host$/ },
  ],
  [
    'a clock that is behind',
    '--clock-offset-seconds -300',
    { clock: /^-(?:300|301|299)\.\d s from this host$/ },
  ],
  [
    'a limit of requests',
    '--requests-per-minute 9',
    { requests: /^429 at request 10, .*; Retry-After: \d+$/ },
    { api: { maxRequestsPerSecond: expect.any(Number) as unknown } },
  ],
  ['old days that are not found', '--old-days not-found', { 'readable days': /^3; .* is answered 404$/ }],
  [
    'old days that are a bad request',
    '--old-days bad-request',
    { 'readable days': /^3; .* is answered 400$/ },
  ],
  [
    'old days without events',
    '--old-days empty',
    { 'readable days': /^at least 3; from \d{4}-\d\d-\d\d on back answered without events$/ },
  ],
  [
    'more days',
    '--days 5',
    { 'readable days': /^5; .* is answered 401 invalid_datetime_window/ },
    { poll: { readableDays: 5 } },
  ],
  [
    'names that no format knows',
    '--change-entries new-names',
    { 'unknown names': /^member newMember \d+, label newLabel \d+, field of log NewField \d+$/ },
  ],
  [
    'several kinds of log',
    '--change-entries mixed-logs',
    { log: /^(?=.*object \d)(?=.*plain text \d)(?=.*null \d)(?=.*text of JSON \d)/ },
  ],
  [
    'several units of time',
    '--change-entries mixed-times',
    { timestamps: /^(?=.*seconds \d)(?=.*ms \d)(?=.*µs \d)(?=.*ns \d)(?=.*text \d)(?=.*none \d)/ },
  ],
  ['poor ids', '--change-entries poor-ids', { ids: /^missing in [1-9]\d* of .*, repeated in [1-9]\d* of / }],
  ['masked addresses', '--change-entries masked-addresses', { addresses: /^masked in (\d+) of \1$/ }],
  [
    'several of these together',
    '--compress --old-days empty --change-entries new-names,masked-addresses',
    {
      headers: /gzip/,
      'readable days': /without events/,
      addresses: /^masked in (\d+) of \1$/,
      'unknown names': /New/,
    },
  ],
])('names %s, which simulate plays', async (_, options, expected, settings = {}) => {
  const file = join(temporaryFolder(), 'sim.yaml')
  const stop = new AbortController()
  let said = ''
  const args = ['simulate', '--entries', '250', '--rate', '0', '--page-size', '100', '--write-config', file]
  const ended = executeWith('', [...args, ...options.split(' ')], {
    stdout: { write: (part) => (said += part) },
    signal: stop.signal,
  })
  onTestFinished(async () => {
    stop.abort()
    await ended
  })
  await waitFor(() => said.includes('Ctrl-C stops it'), { what: 'the simulator' })
  const minutes = options.startsWith('--token') ? '0.02' : '0.005'
  const probed = ['probe', '--zone', '101', '--requests-per-second', '500', '--minutes', minutes, '--json']
  const { stdout, stderr } = await executeWith(file, probed)
  expect(stderr).toBe('')
  const { found, settings: following } = probedIn(stdout)
  expect(stdout).not.toMatch(content)
  for (const [point, pattern] of Object.entries(expected)) expect(found[point]).toMatch(pattern)
  expect(following).toEqual(settings)
})
