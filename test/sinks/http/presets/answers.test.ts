import { describe, expect, test } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import {
  bulk,
  created,
  failed,
  item,
  ofAxiom,
  ofCollector,
  ofSplunk,
  presetWith,
  readWith,
  rule,
} from './dialects.ts'

// What an answer means to a preset alone. The suite of presets ships with each answer of the table in the documentation.

const secret = new Secret('k')
const es = { preset: 'elasticsearch', url: 'http://es:9200' }
const splunk = { preset: 'splunk-hec', url: 'https://splunk:8088', token: secret }
const acknowledging = { ...splunk, acknowledge: true }
const loki = { preset: 'loki', url: 'http://loki:3100' }
const otlp = { preset: 'otlp', url: 'http://collector:4318' }
const axiom = { preset: 'axiom', dataset: 'waf', token: secret }
const sentinel = { preset: 'sentinel', url: 'https://x.azure.com', ...rule, clientSecret: secret }
const datadog = { preset: 'datadog', site: 'datadoghq.eu', apiKey: secret }
const plain = { preset: 'ndjson', url: 'https://siem.example' }

const outcomes = (of: object) => ({ kind: 'each', outcomes: of })
const refused = (answer: string) => ({ refused: 'refused', answer })
const nameless = (status: number) => ({ create: { status, error: { type: 'busy', reason: 'x' } } })
const unread = (said: string) => ({
  kind: 'retry',
  code: 'bad_body',
  said: expect.stringContaining(said) as unknown,
})
const stopped = (credentials: boolean) =>
  ({ ...outcomes({ 'e-0': 'delivered' }), stop: { kind: 'stop', credentials } }) as const
const tooLarge = { kind: 'split', reason: 'too_large' }
const overload = (bytes: number, max: number): Reply => {
  const reason = `rejected [replica_bytes=0, coordinating_operation_bytes=${bytes}, max_coordinating_and_primary_bytes=${max}]`
  return { status: 429, body: { error: { type: 'rejected_execution_exception', reason }, status: 429 } }
}
const loud = (status: number, body: string): Reply => ({ status, body })
const behind = `entry with timestamp 2025-11-20 10:11:13 +0000 UTC ignored, reason: 'entry too far behind, entry timestamp is: 2025-11-20T10:11:13Z, oldest acceptable timestamp is: 2025-11-21T23:03:55Z',\nuser 'fake', total ignored: 1 out of 3 for stream: {job="far"}`
const rate = (bytes: number) =>
  `ingestion rate limit exceeded for user t1 (limit: 20971 bytes/sec) while attempting to ingest '40' lines totaling '${bytes}' bytes, reduce log volume`

type Case = readonly [what: string, Reply, verdict: object]

describe.each<[given: { readonly preset: string; readonly [own: string]: unknown }, cases: readonly Case[]]>([
  [
    es,
    [
      [
        'by id, in any order',
        bulk(failed('e-2', 409, 'version_conflict_engine_exception'), created('e-0')),
        outcomes({ 'e-2': 'duplicate', 'e-0': 'delivered' }),
      ],
      [
        'by position where its items have no _id, as VictoriaLogs answers',
        bulk(nameless(201), nameless(503), nameless(201)),
        outcomes({ 'e-0': 'delivered', 'e-1': { retry: 'busy: x' }, 'e-2': 'delivered' }),
      ],
      [
        'by id alone where only some items have one, since any may be in another place',
        bulk(created('e-2'), { create: { status: 201 } }),
        outcomes({ 'e-2': 'delivered' }),
      ],
      ['a document dropped by a pipeline', bulk(item('e-0', 200)), outcomes({ 'e-0': 'delivered' })],
      [
        'a document in the failure store, although its status is a success',
        bulk(item('e-0', 201, { failure_store: 'used' })),
        outcomes({ 'e-0': refused('Elasticsearch put it into the failure store of the data stream (201)') }),
      ],
      [
        'a document that is not in it',
        bulk(item('e-0', 201, { failure_store: 'not_enabled' })),
        outcomes({ 'e-0': 'delivered' }),
      ],
      ['no mapping', bulk(failed('e-0', 400, 'mapper')), outcomes({ 'e-0': refused('mapper: x') })],
      [
        'a pipeline that fails',
        bulk(failed('e-0', 500, 'fail_processor_exception')),
        outcomes({ 'e-0': refused('fail_processor_exception: x') }),
      ],
      [
        'another error of the server for an event',
        bulk(failed('e-0', 500, 'exception')),
        outcomes({ 'e-0': { retry: 'exception: x', refuseAfter: true } }),
      ],
      ['no active shards', bulk(failed('e-0', 503, 'shards')), outcomes({ 'e-0': { retry: 'shards: x' } })],
      [
        'a full disk',
        bulk(failed('e-0', 429, 'cluster_block_exception')),
        outcomes({ 'e-0': { retry: 'cluster_block_exception: x' } }),
      ],
      ['too few items without _id', bulk(nameless(201)), unread('the answer has 1 items for 3 documents')],
      ['too many of them', bulk(...[1, 2, 3, 4].map(() => nameless(201))), unread('4 items for 3')],
      ['an _id that was not sent', bulk(created('e-0'), item('other', 201)), unread('was not sent')],
      ['no items', { status: 200, body: '' }, unread('no items')],
      ...(
        [
          ['missing rights', 403, 'security_exception', 'no permissions', true],
          ['a write block', 403, 'cluster_block_exception', 'FORBIDDEN/8/index write (api)', false],
          ['a missing index', 404, 'index_not_found_exception', 'x', false],
          ['a closed index', 400, 'index_closed_exception', 'x', false],
          [
            'a missing pipeline',
            400,
            'illegal_argument_exception',
            'pipeline with id [p] does not exist',
            false,
          ],
        ] as const
      ).map(([what, status, type, reason, credentials]): Case => [
        `${what}, with an accepted event`,
        bulk(created('e-0'), failed('e-1', status, type, reason)),
        stopped(credentials),
      ]),
      ['an overload', overload(2000, 2048), { kind: 'retry', code: 'throttled' }],
      ['a body over the limit of indexing pressure', overload(3880, 2048), tooLarge],
    ],
  ],
  [
    acknowledging,
    [
      [
        'a receipt',
        { status: 200, body: { text: 'Success', code: 0, ackId: 0 } },
        { kind: 'delivered', receipt: 0 },
      ],
      [
        'no receipt',
        ofSplunk(200, 0, 'Success'),
        { kind: 'stop', remedy: expect.stringContaining('turn indexer acknowledgement on') as unknown },
      ],
      [
        'a channel that a proxy has removed',
        ofSplunk(400, 10, 'x'),
        { kind: 'stop', remedy: expect.stringContaining('X-Splunk-Request-Channel') as unknown },
      ],
      [
        'a bad event: no receipt says that those before it are indexed',
        ofSplunk(400, 12, 'Event field is required', 1),
        outcomes({ 'e-0': 'unsent', 'e-1': refused('code 12: Event field is required'), 'e-2': 'unsent' }),
      ],
      [
        'a server that gets busy',
        ofSplunk(503, 9, 'busy', 1),
        outcomes(Object.fromEntries(['e-0', 'e-1', 'e-2'].map((id) => [id, { retry: 'code 9: busy' }]))),
      ],
    ],
  ],
  [
    splunk,
    [
      ['a token that is disabled', ofSplunk(403, 1, 'x'), { kind: 'stop', credentials: true }],
      ['no token', ofSplunk(401, 2, 'x'), { kind: 'stop', credentials: true }],
      ['a wrong token', ofSplunk(403, 4, 'x'), { kind: 'stop', remedy: 'check token' }],
      [
        'a wrong index',
        ofSplunk(400, 7, 'Incorrect index', 0),
        { kind: 'stop', credentials: false, said: 'code 7: Incorrect index' },
      ],
      [
        'a token with acknowledgement',
        ofSplunk(400, 10, 'Data channel is missing'),
        {
          kind: 'stop',
          credentials: false,
          remedy: 'set acknowledge: true, or turn indexer acknowledgement off for this token',
        },
      ],
      ['an internal error', ofSplunk(500, 8, 'x'), { kind: 'retry', code: 'server_error' }],
      ['a blank event somewhere', ofSplunk(400, 13, 'x'), { kind: 'split', reason: 'refused' }],
      ['a newer code', ofSplunk(503, 26, 'new'), { kind: 'retry' }],
      ...[-1, 0.5, 3, 1e300].map((at): Case => [
        `the number ${at}, which is that of no event`,
        ofSplunk(400, 12, 'Event field is required', at),
        { kind: 'split' },
      ]),
      [
        'a bad event: those before it are indexed, and none after it',
        ofSplunk(400, 12, 'Event field is required', 1),
        outcomes({ 'e-0': 'delivered', 'e-1': refused('code 12: Event field is required'), 'e-2': 'unsent' }),
      ],
      [
        'an event at which it got busy',
        ofSplunk(503, 9, 'busy', 1),
        outcomes({ 'e-0': 'delivered', 'e-1': { retry: 'code 9: busy' }, 'e-2': { retry: 'code 9: busy' } }),
      ],
    ],
  ],
  [
    loki,
    [
      [
        'a long answer that repeats itself',
        loud(429, 'limit: 1 bytes/sec)'.repeat(200_000)),
        { kind: 'retry' },
      ],
      ['an entry that is too far behind', loud(400, behind), { kind: 'split', reason: 'too_old' }],
      [
        'an entry that is too old',
        loud(400, "entry for stream '{…}' has timestamp too old: 2026-11-14T00:04:04Z, oldest acceptable …"),
        { kind: 'split', reason: 'too_old' },
      ],
      [
        'a label that it cannot read',
        loud(400, "couldn't parse labels: 1:3: parse error"),
        { kind: 'split', reason: 'refused' },
      ],
      [
        'a body over the limit of its ingesters',
        loud(
          500,
          'rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5 vs. 4)',
        ),
        tooLarge,
      ],
      ['metadata without a name', loud(500, 'label name is empty'), { kind: 'split', reason: 'refused' }],
      ['a rate that is exceeded', loud(429, rate(10_000)), { kind: 'retry', code: 'throttled' }],
      ['a body over the rate itself', loud(429, rate(36_151)), tooLarge],
      ['a tenant whose ingestion is blocked', loud(260, 'blocked'), { kind: 'stop' }],
      [
        'no structured metadata, as with a schema before v13',
        loud(
          400,
          `stream '{job="x"}' includes structured metadata, but this feature is disallowed. Please see …`,
        ),
        { kind: 'stop', remedy: expect.stringContaining('structuredMetadata: false') as unknown },
      ],
    ],
  ],
  [
    otlp,
    [
      ['success, as the protocol says it', { status: 200, body: {} }, { kind: 'delivered' }],
      [
        'a warning',
        { status: 200, body: { partialSuccess: { errorMessage: 'slow' } } },
        { kind: 'delivered' },
      ],
      [
        'records dropped, the count as text',
        ofCollector('2'),
        { kind: 'delivered', lost: { count: 2, answer: 'dropped' } },
      ],
      ['all records dropped: then it is known which', ofCollector(3), { kind: 'each' }],
      ['a negative count', ofCollector('-2'), { kind: 'delivered' }],
      [
        'a body that is too large',
        { status: 400, body: { code: 3, message: 'http: request body too large' } },
        tooLarge,
      ],
      ['a permanent error', { status: 501 }, { kind: 'split', reason: 'refused' }],
    ],
  ],
  [
    axiom,
    [
      ['some not taken', ofAxiom(1, 2), { kind: 'delivered', lost: { count: 2, answer: 'too many fields' } }],
      ['none taken: then it is known which', ofAxiom(0, 3), { kind: 'each' }],
      ['a negative count', ofAxiom(3, -2), { kind: 'delivered' }],
      [
        'a limit that ends',
        { status: 429, headers: { 'x-ratelimit-reset': '1763633500' } },
        { kind: 'retry', retryAtMs: 1_763_633_500_000 },
      ],
    ],
  ],
  [
    sentinel,
    [
      [
        'a missing role',
        { status: 403 },
        { kind: 'stop', remedy: expect.stringContaining('Monitoring Metrics Publisher') as unknown },
      ],
      ['a wrong rule or stream', { status: 404 }, { kind: 'stop', remedy: 'check url, ruleId and stream' }],
    ],
  ],
  [datadog, [['200', { status: 200 }, { kind: 'retry', code: 'bad_body' }]]],
  [
    { ...datadog, url: 'http://worker' },
    [['200 of an own receiver', { status: 200 }, { kind: 'delivered' }]],
  ],
  [
    { ...plain, successCodes: [202, 409] },
    [200, 202, 204, 409, 429].map((status): Case => [
      `${status} where 202 and 409 are configured`,
      { status },
      { kind: [202, 409].includes(status) ? 'delivered' : 'retry' },
    ]),
  ],
  [
    plain,
    [
      [
        '409 to an Idempotency-Key',
        { status: 409 },
        { kind: 'retry', said: expect.stringContaining('add 409 to successCodes') as unknown },
      ],
    ],
  ],
])('an answer to $preset', (given, cases) => {
  const events = buildEvents(3, 'e')

  test.each(cases)('is read: %s', (_what, reply, verdict) => {
    const read = readWith(given, events)(reply)
    expect(read).toMatchObject(verdict)
    if ('outcomes' in verdict) expect(read.outcomes).toEqual(verdict.outcomes)
    if (read.kind === 'delivered') expect(read).toEqual(verdict)
  })
})

test('an answer of Elasticsearch is read for each event alone, also where two have the same id', () => {
  const [one, other] = [buildEvent({ id: 'x' }), buildEvent({ id: 'x', time: '2025-11-20T10:11:12.124Z' })]
  const items = [one, other].map(({ time }, index) => ({
    create: { ...nameless(index === 0 ? 201 : 503).create, _id: `101_x_${time}` },
  }))
  const body = Buffer.from(JSON.stringify({ errors: true, items }))
  const answer = { status: 200, headers: {}, body, whole: true }
  expect(presetWith(es).read(answer, [one, other])).toMatchObject({
    outcomes: new Map<object, unknown>([
      [one, 'delivered'],
      [other, { retry: 'busy: x' }],
    ]),
  })
})
