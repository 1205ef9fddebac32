import type { Fault, FaultRule } from '../../src/simulator/faults.ts'
import type { Random } from '../pump/model/random.ts'
import * as faults from '../simulator/faults.ts'

const hourMs = 3_600_000

/** Waits that mean something, and those that mean nothing or too much. */
const waits = [
  0,
  1,
  2,
  -5,
  0.5,
  'soon',
  '',
  '-1',
  '1e3',
  'Thu, 01 Jan 1970 00:00:00 GMT',
  '2, 3',
  '１２',
] as const

/** Bodies that are no page, and pages that are hardly one. */
const bodies = [
  '',
  '<html><h1>502 Bad Gateway</h1></html>',
  '{"logs":[',
  '[]',
  'null',
  '"logs"',
  '{}',
  '{"logs":null,"hasMoreData":true}',
  '{"logs":[],"hasMoreData":false,"errorResponse":{"success":false,"message":"later","errorKey":""}}',
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  '{"__proto__":{"logs":[]},"logs":{}}',
]

const noError = { success: false, message: null, errorKey: null }
const fields: readonly Readonly<Record<string, unknown>>[] = [
  { hasMoreData: 1 },
  { logs: 'x' },
  { continuationToken: { a: 1 } },
  { logs: null },
  { errorResponse: undefined },
  { errorResponse: noError },
]

/** Every way of failing after which each entry can still be read as it is. */
const kinds: readonly ((random: Random) => Fault)[] = [
  (random) => faults.throttle({ retryAfter: random.pick(waits) }),
  (random) => faults.throttle({ retryAfter: { inMs: random.between(-90_000, 20_000) } }),
  (random) => faults.throttle({ status: random.pick([429, 503]) }),
  (random) => faults.status({ status: random.pick([500, 502, 503, 504, 599]) }),
  (random) => faults.status({ status: random.pick([500, 503]), body: random.pick(bodies) }),
  (random) => faults.status({ status: random.pick([200, 201, 204, 202]), body: random.pick(bodies) }),
  (random) => faults.status({ status: random.pick([400, 403, 404, 405, 409, 418, 422, 451]) }),
  (random) => faults.problemDetails({ status: random.pick([400, 401, 403, 404, 500]) }),
  (random) =>
    faults.errorKey({
      status: random.pick([200, 202, 400, 401, 500]),
      errorKey: random.pick([
        'internal',
        'invalid_datetime_window.event_logs',
        'rate_limited',
        '__proto__',
        '😀',
      ]),
    }),
  () => faults.acceptedResult(),
  (random) =>
    faults.redirect({
      status: random.pick([301, 302, 307, 308]),
      location: random.pick(['/', 'https://login.example.com/', 'file:///etc/passwd', '']),
    }),
  (random) => faults.reset({ when: random.pick(['before', 'mid']) }),
  (random) => faults.cut({ missingBytes: random.pick([1, 10, 100_000]) }),
  (random) => faults.hang({ when: random.pick(['before', 'mid']) }),
  (random) => faults.drip({ everyMs: 200, chunkBytes: random.pick([512, 4096]) }),
  (random) => faults.delay({ ms: random.pick([100, 5_000, 60_000]) }),
  (random) => faults.oversized({ bytes: 30_000_000, declared: random.chance(0.5) }),
  (random) => faults.bomb({ bytes: 200_000_000, encoding: random.pick(['gzip', 'br', 'zstd', 'deflate']) }),
  (random) =>
    faults.encode({
      encoding: random.pick(['gzip', 'br', 'zstd', 'deflate']),
      label: random.pick(['gzip', 'br', 'identity', 'x-none']),
    }),
  (random) => faults.date({ offsetMs: random.pick([null, -6 * hourMs, 6 * hourMs, -40_000, 90_000]) }),
  (random) => faults.notJson({ body: random.pick(bodies) }),
  () => faults.duplicateKeys(),
  () => faults.wrongTypes(),
  (random) => faults.wrongTypes({ fields: random.pick(fields) }),
  () => faults.emptyPageWithMore(),
  () => faults.repeatToken(),
  (random) => faults.cycleTokens({ length: random.between(1, 5) }),
  () => faults.moreWithoutToken(),
  (random) => faults.repeatedEntries({ count: random.between(1, 20) }),
  () => faults.expiredToken(),
]

/** A fault that meets some requests, of one zone or of all, until it is healed. */
export function anyFault(random: Random, zones: readonly number[]): FaultRule {
  const fault = random.pick(kinds)(random)
  const match = random.chance(0.5)
    ? {}
    : { zone: random.pick(zones), ...(random.chance(0.3) && { firstPage: random.chance(0.5) }) }
  return { match: { operation: 'eventLogs', ...match }, every: random.between(1, 4), times: Infinity, fault }
}
