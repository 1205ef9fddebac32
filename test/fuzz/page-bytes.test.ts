import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Day } from '../../src/domain/day.ts'
import { Failure } from '../../src/domain/failure.ts'
import { createEventLogSource } from '../../src/shield/event-logs.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { defaults, entry } from '../shield/samples.ts'
import { answer, startShieldApi, type ShieldApi } from '../shield/shield-api.ts'
import { expectLines } from './expect-lines.ts'
import { mutated, runsOf } from './mutated.ts'

const page = JSON.stringify({
  logs: [
    entry(),
    entry({ logId: 'second', timestamp: 1_763_640_001, log: 'plain text' }),
    entry({ logId: '', labels: { status: '403', asn: 'AS64500', country: '' } }),
    entry({ logId: 'third', log: '{"Url":"/a?b=c","Headers":[{"Name":"Cookie","Value":"secret-cookie"}]}' }),
  ],
  hasMoreData: true,
  continuationToken: 'a/b=?%2F',
  startToken: '',
  errorResponse: { success: false, message: null, errorKey: null },
})
const problem = JSON.stringify({
  title: 'Bad Request',
  status: 400,
  detail: 'key k-hunter2 is not good',
  errors: { date: ['must be MM-dd-yyyy'] },
  errorResponse: { success: false, message: 'no', errorKey: 'limit_reached.event_logs' },
})

const answers = fc.record({
  status: fc.oneof(
    { weight: 6, arbitrary: fc.constant(200) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(202, 204, 206, 301, 400, 401, 404, 408, 410, 429, 500, 503, 599),
    },
  ),
  body: fc.oneof({ weight: 3, arbitrary: mutated(page) }, { weight: 1, arbitrary: mutated(problem) }),
  headers: fc.record(
    {
      'retry-after': fc.constantFrom(
        ...'1|-1|1e12|99999999999|soon|Fri, 01 Jan 2400 00:00:00 GMT'.split('|'),
      ),
      date: fc.constantFrom(
        ...'yesterday|Thu, 01 Jan 1970 00:00:00 GMT|Fri, 31 Dec 9999 23:59:59 GMT|'.split('|'),
      ),
      'content-encoding': fc.constantFrom('identity', 'gzip', 'br', 'zstd', 'deflate', 'x-none', ''),
      'cdn-requestid': fc.constantFrom('r', 'r'.repeat(4_000)),
    },
    { requiredKeys: [] },
  ),
})

const zone = { id: 101, name: 'shop', account: 'main' }
const day = '2025-11-20' as Day
const redactors = ['off', defaults, { ...defaults, query: ['x'], addresses: 'mask' }] as const
let api: ShieldApi

beforeAll(async () => {
  api = await startShieldApi()
})
afterAll(() => api.close())

test('any bytes are a page whose events all have a line, or one Failure without secrets', async () => {
  const seen = { pages: 0, failures: new Set<string>() }
  await fc.assert(
    fc.asyncProperty(
      answers,
      fc.constantFrom(...redactors),
      fc.boolean(),
      async (given, redaction, first) => {
        api.reply(answer(given.status, given.body, given.headers))
        const redactor = createRedactor(redaction)
        const source = createEventLogSource(
          () => api.client,
          () => redactor,
        )
        const cursor = first ? null : ('token-of-a-page' as never)
        const request = { zone, day, cursor, priority: 'live' } as const
        try {
          const got = await source.fetchPage(request, new AbortController().signal)
          seen.pages++
          for (const event of got.content().events) expectLines(event, zone.id)
          if (!got.content().more) expect(got.content().next).toBeNull()
          got.release()
        } catch (error) {
          if (!(error instanceof Failure)) throw error
          seen.failures.add(error.code)
          expect(error.message).not.toMatch(/k-hunter2|token-of-a-page|\p{Cc}/u)
          expect(error.message.length).toBeLessThan(600)
        }
        expect(api.budget.heldBytes).toBe(0)
        // A pause that one answer asked for is not for the next one.
        await api.clock.advance(3_600_000)
      },
    ),
    { numRuns: runsOf(400) },
  )
  // Else the mutations are too mild or too wild.
  expect(seen.pages).toBeGreaterThan(10)
  expect([...seen.failures]).toEqual(expect.arrayContaining(['bad_body', 'throttled', 'unauthorised']))
})
