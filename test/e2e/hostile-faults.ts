import type { Fault, FaultRule } from '../../src/simulator/faults/fault.ts'
import type { Random } from '../pump/model/random.ts'

const hourMs = 3_600_000

/** Waits that mean something, and those that mean nothing or too much. An hour is believed at most: see `absurdWaits`. */
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

/** Each is cut to an hour. */
export const absurdWaits = [1e12, 'Fri, 01 Jan 2400 00:00:00 GMT'] as const

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

/** Every way of failing after which each entry can still be read as it is. */
const kinds: readonly ((random: Random) => Fault)[] = [
  (random) => ({ kind: 'throttle', retryAfter: random.pick(waits) }),
  (random) => ({ kind: 'throttle', retryAfter: { inMs: random.between(-90_000, 20_000) } }),
  (random) => ({ kind: 'throttle', status: random.pick([429, 503]) }),
  (random) => ({ kind: 'status', status: random.pick([500, 502, 503, 504, 599]) }),
  (random) => ({ kind: 'status', status: random.pick([500, 503]), body: random.pick(bodies) }),
  (random) => ({ kind: 'status', status: random.pick([200, 201, 204, 202]), body: random.pick(bodies) }),
  (random) => ({ kind: 'status', status: random.pick([400, 403, 404, 405, 409, 418, 422, 451]) }),
  (random) => ({ kind: 'problemDetails', status: random.pick([400, 401, 403, 404, 500]) }),
  (random) => ({
    kind: 'errorKey',
    status: random.pick([200, 202, 400, 401, 500]),
    errorKey: random.pick([
      'internal',
      'invalid_datetime_window.event_logs',
      'rate_limited',
      '__proto__',
      '😀',
    ]),
  }),
  () => ({ kind: 'acceptedResult' }),
  (random) => ({
    kind: 'redirect',
    status: random.pick([301, 302, 307, 308]),
    location: random.pick(['/', 'https://login.example.com/', 'file:///etc/passwd', '']),
  }),
  (random) => ({ kind: 'reset', when: random.pick(['before', 'mid']) }),
  (random) => ({ kind: 'cut', missingBytes: random.pick([1, 10, 100_000]) }),
  (random) => ({ kind: 'hang', when: random.pick(['before', 'mid']) }),
  (random) => ({ kind: 'drip', everyMs: 200, chunkBytes: random.pick([512, 4096]) }),
  (random) => ({ kind: 'delay', ms: random.pick([100, 5_000, 60_000]) }),
  (random) => ({ kind: 'oversized', bytes: 30_000_000, declared: random.chance(0.5) }),
  (random) => ({
    kind: 'bomb',
    bytes: 200_000_000,
    encoding: random.pick(['gzip', 'br', 'zstd', 'deflate']),
  }),
  (random) => ({
    kind: 'encode',
    encoding: random.pick(['gzip', 'br', 'zstd', 'deflate']),
    label: random.pick(['gzip', 'br', 'identity', 'x-none']),
  }),
  (random) => ({ kind: 'date', offsetMs: random.pick([null, -6 * hourMs, 6 * hourMs, -40_000, 90_000]) }),
  (random) => ({ kind: 'notJson', body: random.pick(bodies) }),
  () => ({ kind: 'duplicateKeys' }),
  () => ({ kind: 'wrongTypes' }),
  (random) => ({
    kind: 'wrongTypes',
    fields: random.pick([{ hasMoreData: 1 }, { logs: 'x' }, { continuationToken: { a: 1 } }, { logs: null }]),
  }),
  () => ({ kind: 'emptyPageWithMore' }),
  () => ({ kind: 'repeatToken' }),
  (random) => ({ kind: 'cycleTokens', length: random.between(1, 5) }),
  () => ({ kind: 'moreWithoutToken' }),
  (random) => ({ kind: 'repeatedEntries', count: random.between(1, 20) }),
  () => ({ kind: 'expiredToken' }),
]

/** A fault that meets some requests, of one zone or of all, until it is healed. */
export function anyFault(random: Random, zones: readonly number[]): FaultRule {
  const fault = random.pick(kinds)(random)
  const match = random.chance(0.5)
    ? {}
    : { zone: random.pick(zones), ...(random.chance(0.3) && { firstPage: random.chance(0.5) }) }
  return { match: { operation: 'eventLogs', ...match }, every: random.between(1, 4), times: Infinity, fault }
}
