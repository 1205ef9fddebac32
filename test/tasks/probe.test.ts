import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { FaultRule } from '../../src/simulator/faults.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import { reset, throttle } from '../simulator/faults.ts'
import { executeWith, openWorkshopWithApi } from './workshop.ts'

interface Probed {
  readonly isWhole: boolean
  readonly settings: object
  readonly findings: readonly { readonly point: string; readonly found: string }[]
}

/** Hosts, addresses and secrets of the simulator's entries and headers. */
const content = /example\.(?:com|org|net)|198\.1[89]\.|198\.51|secret/

/** What `probe --json` finds, which can be shared. */
async function probed(file: string, minutes = '0.005') {
  const args = ['probe', '--zone', '101', '--requests-per-second', '500', '--minutes', minutes, '--json']
  const { code, stdout, stderr } = await executeWith(file, args)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).not.toMatch(content)
  const { findings, ...rest } = JSON.parse(stdout) as Probed
  return { ...rest, found: Object.fromEntries(findings.map(({ point, found }) => [point, found])) }
}

const ofEventLogs = { operation: 'eventLogs' } as const

test.each<[string, FaultRule, RegExp]>([
  [
    'a 429 to its first request',
    { match: ofEventLogs, fault: throttle({ retryAfter: 30 }) },
    /^429 at request 1, at 500 a second; Retry-After: 30$/,
  ],
  [
    'a 429 before it has read a page',
    { match: ofEventLogs, every: 3, fault: throttle() },
    /^429 at request 3, at 500 a second; Retry-After: none$/,
  ],
  [
    'the first 429',
    { match: ofEventLogs, every: 7, fault: throttle({ retryAfter: 30 }) },
    /^429 at request 7, at 500 a second; Retry-After: 30$/,
  ],
  [
    'a request without an answer',
    { match: ofEventLogs, every: 12, fault: reset() },
    /^11 at 500 a second were answered: 9 × 200, 2 × 400; then ended by network$/,
  ],
])('ends at %s, with what it has found by then', async (_, rule, requests) => {
  const { simulator, configure, folder } = await openWorkshopWithApi({ days: 250, pageSize: 100 })
  configure({ api: { baseUrl: simulator.url, accessKey: 'the-key-of-the-test' }, zones: [101] })
  simulator.fail(rule)
  const { found, isWhole } = await probed(join(folder, 'shieldlog.yaml'))
  expect([isWhole, found['requests']]).toEqual([false, expect.stringMatching(requests)])
})

/** Options of `simulate`, what `probe` then finds, and the settings that follow. */
test.each<[string, string, Record<string, RegExp>, object?]>([
  [
    'the defaults, with new events at the end',
    '--rate 100',
    {
      'first page': /^omit works, empty is refused \(400\), start is refused \(400\)$/,
      'page size': /^100 events on every page but the last/,
      'events of today': /^\d+ events on \d pages$/,
      'events of yesterday': /^250 events on 3 pages$/,
      order: /^oldest first$/,
      'new events turn up': /^\d+ at the end$/,
      'later page, read again': /^after \d+ s the same, after \d+ s the same$/,
      'token of the last page': /^empty$/,
      'readable days': /^3; .* is answered 401 invalid_datetime_window/,
      'unexpected entries': /^none$/,
    },
  ],
  [
    'new events at the beginning, which shift all pages',
    '--rate 100 --order newest-first --last-token real',
    {
      order: /^newest first$/,
      'new events turn up': /^\d+ at the beginning$/,
      'first page, read again': /other events/,
      'token of the last page': /^one of its own$/,
    },
  ],
  [
    'no order, and no last token',
    '--rate 100 --order unordered --last-token null',
    { order: /^none$/, 'token of the last page': /^null$/ },
  ],
  [
    'events that turn up late',
    '--rate 100 --late-seconds 1',
    { 'new events turn up': /\d+ between others/, 'late events': /^the latest was not listed [\d.]+ min/ },
  ],
  [
    'pages of many sizes, the last with the token of before',
    '--least-page-size 20 --last-token repeated',
    {
      'page size': /^(?!100)\d+ to \d+ events/,
      'later page, read again': /more events|other events/,
      'token of the last page': /repeated/,
    },
  ],
  [
    'how long a token lives',
    '--token-seconds 1',
    {
      'later page, read again': /^after \d+ s the same events in other bytes, .*after \d+ s refused$/,
    },
  ],
  [
    'a snapshot, which does not grow',
    '--rate 100 --tokens snapshot',
    { 'later page, read again': /^after \d+ s the same/ },
  ],
  [
    'another first page and more days',
    '--first-page empty --days 5',
    {
      'first page': /^empty works, omit is refused/,
      'readable days': /^5; .* is answered 401 invalid_datetime_window/,
      'new events turn up': /^none turned up$/,
    },
    { api: { firstPage: 'empty' }, poll: { readableDays: 5 } },
  ],
  [
    'a limit of requests',
    '--requests-per-minute 9',
    { requests: /^429 at request 10, .*; Retry-After: \d+$/ },
    { api: { maxRequestsPerSecond: expect.any(Number) as unknown } },
  ],
  [
    'compression, a clock that is ahead, slow answers and large entries',
    '--compress --clock-offset-seconds 300 --latency-ms 60 --entry-bytes 3000',
    {
      latency: /^median (?:[6-9]\d|\d{3,}) ms/,
      'page size': /the largest has (?:2[5-9]|3[0-5])\d{4} bytes$/,
    },
  ],
  [
    'a clock that is behind, and old days that are not found',
    '--clock-offset-seconds -300 --old-days not-found',
    { 'readable days': /^3; .* is answered 404$/ },
  ],
  [
    'old days that are a bad request, and names that no format knows',
    '--old-days bad-request --change-entries new-names,masked-addresses',
    {
      'readable days': /^3; .* is answered 400$/,
      'unexpected entries': /^member \d+: members that shieldlog does not know \(newMember\)$/,
    },
  ],
  [
    'old days without events, masked addresses, and several kinds of ids, logs and times',
    '--old-days empty --change-entries mixed-logs,mixed-times,poor-ids,masked-addresses',
    {
      'readable days': /^at least 3; from \d{4}-\d\d-\d\d on back answered without events$/,
      'unexpected entries': /^time \d+: no time that shieldlog can read \(null\)$/,
    },
  ],
  [
    'labels and logs of another shape',
    '--change-entries listed-labels,renamed-logs',
    {
      'unexpected entries':
        /^labels (\d+), log \1: labels of another shape \(a list\), a log without .* \(WafServerZoneId, /,
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
  const { found, ...rest } = await probed(file, options.startsWith('--token') ? '0.02' : '0.005')
  for (const [point, pattern] of Object.entries(expected)) expect(found[point]).toMatch(pattern)
  expect(rest.settings).toEqual(settings)
})
