import { expect, test } from 'vitest'
import { errorKey, throttle, type FaultRule } from '../../src/simulator/faults.ts'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import { openWorkshopWithApi } from './workshop.ts'

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
  const { findings, ...rest } = JSON.parse(stdout) as Probed
  return {
    ...rest,
    text: stdout,
    found: Object.fromEntries(findings.map(({ point, found }) => [point, found])),
  }
}

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
  expect(text).not.toMatch(/example\.(?:com|org|net)|198\.1[89]\./)
})
