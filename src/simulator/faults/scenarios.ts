import type { Operation } from '../route.ts'
import type { Fault, FaultRule } from './fault.ts'

/**
 * Named faults, to try a shipper under them. Those of event logs are intermittent: every entry stays readable, although
 * `stuck` and `endless` make that hard.
 */
export const scenarios: { readonly [name: string]: readonly FaultRule[] } = {
  throttled: often(5, { kind: 'throttle', retryAfter: 2 }),
  'throttled-date': often(5, { kind: 'throttle', retryAfter: { inMs: 3000 } }),
  'throttled-silent': often(5, { kind: 'throttle' }),
  'server-error': often(7, { kind: 'status', status: 500 }),
  gateway: [
    ...often(7, { kind: 'status', status: 502, body: '<html><h1>502 Bad Gateway</h1></html>' }),
    ...often(11, { kind: 'status', status: 503 }),
  ],
  reset: [...often(7, { kind: 'reset' }), ...often(11, { kind: 'reset', when: 'mid' })],
  cut: often(7, { kind: 'cut' }),
  slow: often(3, { kind: 'drip', everyMs: 5, chunkBytes: 16_384 }),
  hang: often(13, { kind: 'hang' }),
  redirect: often(7, { kind: 'redirect', location: 'https://login.example.com/' }),
  'not-json': often(7, { kind: 'notJson' }),
  'wrong-types': often(7, { kind: 'wrongTypes' }),
  'bad-text': often(7, { kind: 'nonUtf8' }),
  'bad-entries': often(3, { kind: 'badEntries' }),
  'missing-ids': often(3, { kind: 'missingIds', every: 10 }),
  'repeated-entries': often(2, { kind: 'repeatedEntries' }),
  'shared-ids': often(1, { kind: 'sharedIds', every: 10 }),
  'empty-pages': often(3, { kind: 'emptyPageWithMore' }),
  'expired-tokens': often(5, { kind: 'expiredToken' }),
  stuck: often(5, { kind: 'repeatToken' }),
  endless: often(5, { kind: 'moreWithoutToken' }),
  'refused-window': often(9, {
    kind: 'errorKey',
    errorKey: 'invalid_datetime_window.event_logs',
    status: 401,
  }),
  'refused-key': often(9, { kind: 'problemDetails', status: 401 }),
  'wrong-clock': often(5, { kind: 'date', offsetMs: 3_600_000 }),
  // The other operations
  'accepted-updates': always('updateRateLimit', { kind: 'acceptedResult' }),
  'refused-updates': always('updateRateLimit', {
    kind: 'errorKey',
    errorKey: 'invalid_plan_type.rate_limit',
    message: 'The plan has no more rate limit rules.',
  }),
  'lost-updates': always('updateRateLimit', { kind: 'reset', when: 'mid' }),
  'no-figures': [
    ...always('uploadScanning', { kind: 'statusCode', status: 503 }),
    ...always('volumes', { kind: 'problemDetails', status: 503, detail: 'Volumes are being moved.' }),
  ],
  'endless-volumes': always('volumes', { kind: 'repeatCursor' }),
}

function always(operation: Operation, fault: Fault): readonly FaultRule[] {
  return [{ match: { operation }, times: Number.POSITIVE_INFINITY, fault }]
}

function often(every: number, fault: Fault): readonly FaultRule[] {
  return [{ match: { operation: 'eventLogs' }, every, times: Number.POSITIVE_INFINITY, fault }]
}
