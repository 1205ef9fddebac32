import { describe, expect, test } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import type { Verdict } from '../../../../src/sinks/http/protocol/preset.ts'
import type { EventOutcome } from '../../../../src/sinks/settle.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import type { Reply } from '../destination-server.ts'
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
  tooManyShards,
} from './dialects.ts'

// What an answer means to a preset alone. The suite of presets ships with each answer of the table in the documentation.

const secret = new Secret('k')
const es = { preset: 'elasticsearch', url: 'http://es:9200' }
const splunk = { preset: 'splunk-hec', url: 'https://splunk:8088', token: secret }
const sentinel = { preset: 'sentinel', url: 'https://x.azure.com', ...rule, clientSecret: secret }
const datadog = { preset: 'datadog', site: 'datadoghq.eu', apiKey: secret }
const plain = { preset: 'ndjson', url: 'https://siem.example' }

/** A kind of verdict, a part of one, or the outcomes of events by id. */
type Expected = Verdict['kind'] | Readonly<Record<string, unknown>>
type Case = readonly [what: string, Reply, Expected]

const containing = (text: string) => expect.stringContaining(text) as string
const refused = (answer: string) => ({ refused: 'refused', answer }) as const
const refusedBody = { kind: 'split', reason: 'refused' }
const tooLarge = { kind: 'split', reason: 'too_large' }
const tooOld = { kind: 'split', reason: 'too_old' }
const throttled = { kind: 'retry', code: 'throttled' }
const unread = (said: string) => ({ kind: 'retry', code: 'bad_body', said: containing(said) })
const stop = (remedy: string) => ({ kind: 'stop', remedy: containing(remedy) })
const lost = (answer: string) => ({ kind: 'delivered', lost: { count: 2, answer } })
const busy = { retry: 'code 9: busy' }

const nameless = (status: number) => ({ create: { status, error: { type: 'busy', reason: 'x' } } })
const overload = (bytes: number, max: number): Reply => {
  const reason = `rejected [replica_bytes=0, coordinating_operation_bytes=${bytes}, max_coordinating_and_primary_bytes=${max}]`
  return { status: 429, body: { error: { type: 'rejected_execution_exception', reason }, status: 429 } }
}
const said = (status: number, body: string | object): Reply => ({ status, body })
const behind = `entry with timestamp 2025-11-20 10:11:13 +0000 UTC ignored, reason: 'entry too far behind, entry timestamp is: 2025-11-20T10:11:13Z, oldest acceptable timestamp is: 2025-11-21T23:03:55Z',\nuser 'fake', total ignored: 1 out of 3 for stream: {job="far"}`
const old = "entry for stream '{…}' has timestamp too old: 2026-11-14T00:04:04Z, oldest acceptable …"
const large = 'rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5 vs. 4)'
const disallowed = `stream '{job="x"}' includes structured metadata, but this feature is disallowed. Please see …`
const rate = (bytes: number) =>
  `ingestion rate limit exceeded for user t1 (limit: 20971 bytes/sec) while attempting to ingest '40' lines totaling '${bytes}' bytes, reduce log volume`

const streamRate = (bytes: string) =>
  `entry with timestamp 2025-11-20 10:11:13 +0000 UTC ignored, reason: 'Per stream rate limit exceeded (limit: 5KB/sec) while attempting to ingest for stream '{job="x"}' totaling ${bytes}, consider splitting a stream'`

/** A success with an event that was accepted, and one of which an error names an error of the sink. */
const stopping = (status: number, type: string, credentials: boolean, reason = 'x'): Case => [
  `${type}, with an accepted event`,
  bulk(created('e-0'), failed('e-1', status, type, reason)),
  { kind: 'each', stop: { kind: 'stop', credentials } },
]

describe.each<[given: { readonly preset: string; readonly [own: string]: unknown }, cases: readonly Case[]]>([
  [
    es,
    [
      ['by id', bulk(failed('e-2', 409, 'x'), created('e-0')), { 'e-2': 'duplicate', 'e-0': 'delivered' }],
      [
        'by position where its items have no _id, as VictoriaLogs answers',
        bulk(nameless(201), nameless(503), nameless(201)),
        { 'e-0': 'delivered', 'e-1': { retry: 'busy: x' }, 'e-2': 'delivered' },
      ],
      [
        'by id alone where only some items have one, since any may be in another place',
        bulk(created('e-2'), { create: { status: 201 } }),
        { 'e-2': 'delivered' },
      ],
      [
        'an item of another action, which says nothing of the event',
        bulk(nameless(201), { index: { status: 400 } }, nameless(201)),
        { 'e-0': 'delivered', 'e-2': 'delivered' },
      ],
      ['a document dropped by a pipeline', bulk(item('e-0', 200)), { 'e-0': 'delivered' }],
      [
        'a document in the failure store, although its status is a success',
        bulk(item('e-0', 201, { failure_store: 'used' })),
        { 'e-0': refused('Elasticsearch put it into the failure store of the data stream (201)') },
      ],
      ['one not in it', bulk(item('e-0', 201, { failure_store: 'not_enabled' })), { 'e-0': 'delivered' }],
      ['no mapping', bulk(failed('e-0', 400, 'mapper')), { 'e-0': refused('mapper: x') }],
      [
        'a pipeline that fails',
        bulk(failed('e-0', 500, 'fail_processor_exception')),
        { 'e-0': refused('fail_processor_exception: x') },
      ],
      ['another 500', bulk(failed('e-0', 500, 'e')), { 'e-0': { retry: 'e: x', refuseAfter: true } }],
      ['no active shards', bulk(failed('e-0', 503, 'shards')), { 'e-0': { retry: 'shards: x' } }],
      [
        'a full disk',
        bulk(failed('e-0', 429, 'cluster_block_exception')),
        { 'e-0': { retry: 'cluster_block_exception: x' } },
      ],
      ['too few items without _id', bulk(nameless(201)), unread('the answer has 1 items for 3 documents')],
      ['too many of them', bulk(...[1, 2, 3, 4].map(() => nameless(201))), unread('4 items for 3')],
      ['an _id that was not sent', bulk(created('e-0'), item('other', 201)), unread('was not sent')],
      ['no items', said(200, ''), unread('no items')],
      stopping(403, 'security_exception', true),
      stopping(403, 'cluster_block_exception', false, 'FORBIDDEN/8/index write (api)'),
      stopping(404, 'index_not_found_exception', false),
      stopping(
        403,
        'index_create_block_exception',
        false,
        '[FORBIDDEN/10/cluster create-index blocked (api)]',
      ),
      stopping(403, 'an_exception_of_a_later_version', false),
      stopping(404, 'another_one', false),
      stopping(400, 'index_closed_exception', false),
      stopping(400, 'illegal_argument_exception', false, 'pipeline with id [p] does not exist'),
      stopping(400, 'validation_exception', false, tooManyShards),
      stopping(
        400,
        'illegal_argument_exception',
        false,
        'this cluster currently has [1]/[1] maximum shards open;',
      ),
      stopping(
        400,
        'illegal_argument_exception',
        false,
        'no write index is defined for alias [waf]. The write …',
      ),
      stopping(
        400,
        'illegal_argument_exception',
        false,
        'Alias [waf] has more than one index associated with it',
      ),
      stopping(
        400,
        'illegal_argument_exception',
        false,
        'composable template [w] forbids index auto creation',
      ),
      stopping(
        400,
        'cluster_block_exception',
        false,
        'index [waf] blocked by: [FORBIDDEN/5/index read-only (api)]',
      ),
      stopping(400, 'routing_missing_exception', false, 'routing is required for [waf]/[1]'),
      ['an overload', overload(2000, 2048), throttled],
      ['a body over the limit of indexing pressure', overload(3880, 2048), tooLarge],
    ],
  ],
  [
    { ...splunk, acknowledge: true },
    [
      ['a receipt', said(200, { text: 'Success', code: 0, ackId: 0 }), { kind: 'delivered', receipt: 0 }],
      ['no receipt', ofSplunk(200, 0, 'Success'), stop('turn indexer acknowledgement on')],
      ['a channel that a proxy has removed', ofSplunk(400, 10, 'x'), stop('X-Splunk-Request-Channel')],
      [
        'a bad event: no receipt says that those before it are indexed',
        ofSplunk(400, 12, 'Event field is required', 1),
        { 'e-0': 'unsent', 'e-1': refused('code 12: Event field is required'), 'e-2': 'unsent' },
      ],
      ['a server that gets busy', ofSplunk(503, 9, 'busy', 1), { 'e-0': busy, 'e-1': busy, 'e-2': busy }],
    ],
  ],
  [
    splunk,
    [
      ...([1, 2, 4] as const).map((code): Case => [
        `code ${code}, a token that is disabled, missing or wrong`,
        ofSplunk(403, code, 'x'),
        { kind: 'stop', credentials: true },
      ]),
      ['a wrong index', ofSplunk(400, 7, 'Incorrect index', 0), stop('check index')],
      ['a token with acknowledgement', ofSplunk(400, 10, 'missing'), stop('set acknowledge: true, or')],
      ['an internal error', ofSplunk(500, 8, 'x'), { kind: 'retry', code: 'server_error' }],
      ['a blank event somewhere', ofSplunk(400, 13, 'x'), refusedBody],
      ['a newer code', ofSplunk(503, 26, 'new'), 'retry'],
      ...[-1, 0.5, 3, 1e300].map((at): Case => [
        `the number ${at}, which is that of no event`,
        ofSplunk(400, 12, 'Event field is required', at),
        'split',
      ]),
      [
        'a bad event: those before it are indexed, and none after it',
        ofSplunk(400, 12, 'no event', 1),
        { 'e-0': 'delivered', 'e-1': refused('code 12: no event'), 'e-2': 'unsent' },
      ],
      [
        'an event at which it got busy',
        ofSplunk(503, 9, 'busy', 1),
        { 'e-0': 'delivered', 'e-1': busy, 'e-2': busy },
      ],
    ],
  ],
  [
    { preset: 'loki', url: 'http://loki:3100' },
    [
      ['a long answer that repeats itself', said(429, 'limit: 1 bytes/sec)'.repeat(200_000)), 'retry'],
      ['an entry that is too far behind', said(400, behind), tooOld],
      ['an entry that is too old', said(400, old), tooOld],
      ['a label that it cannot read', said(400, "couldn't parse labels: 1:3: parse error"), refusedBody],
      ['a body over the limit of its ingesters', said(500, large), tooLarge],
      ['metadata without a name', said(500, 'label name is empty'), refusedBody],
      ['a rate that is exceeded', said(429, rate(10_000)), throttled],
      [
        'a limit of streams, which that of the body meets',
        said(
          429,
          'maximum active stream limit exceeded when trying to create stream {job="x"}, reduce the number of active streams',
        ),
        { ...throttled, said: containing('maximum active stream limit exceeded') },
      ],
      ['a body over the rate itself', said(429, rate(36_151)), tooLarge],
      ['a stream with too much of a body', said(429, streamRate('1000B')), tooLarge],
      ['a tenant whose ingestion is blocked', said(260, 'blocked'), 'stop'],
      ['a schema before v13', said(400, disallowed), stop('structuredMetadata: false')],
    ],
  ],
  [
    { preset: 'otlp', url: 'http://collector:4318' },
    [
      ['success, as the protocol says it', said(200, {}), 'delivered'],
      ['a warning', said(200, { partialSuccess: { errorMessage: 'slow' } }), 'delivered'],
      ['records dropped, the count as text', ofCollector('2'), lost('dropped')],
      ['all records dropped: then it is known which', ofCollector(3), 'each'],
      ['a negative count', ofCollector('-2'), 'delivered'],
      ['a body too large', said(400, { code: 3, message: 'http: request body too large' }), tooLarge],
      [
        'a count that is none',
        said(200, { partialSuccess: 'x' }),
        unread('not an answer of OTLP: check url'),
      ],
      ['no partial success', said(200, { partialSuccess: null }), 'delivered'],
    ],
  ],
  [
    { preset: 'axiom', dataset: 'waf', token: secret },
    [
      ['some not taken', ofAxiom(1, 2), lost('too many fields')],
      ['none taken: then it is known which', ofAxiom(0, 3), 'each'],
      ['a negative count', ofAxiom(5, -2), 'delivered'],
      ['none counted', ofAxiom(0, 0), unread('of 3 events, 0 were ingested and 0 failed')],
      ['no count of those that failed', said(200, { ingested: 3 }), 'delivered'],
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
      ['a missing role', { status: 403 }, stop('Monitoring Metrics Publisher')],
      ['a wrong rule or stream', { status: 404 }, stop('check url, ruleId and stream')],
    ],
  ],
  [datadog, [['200', { status: 200 }, unread('')]]],
  [{ ...datadog, url: 'http://worker' }, [['200 of an own receiver', { status: 200 }, 'delivered']]],
  [
    { ...plain, successCodes: [202, 409] },
    [200, 202, 204, 409, 429].map((status): Case => [
      `${status} where 202 and 409 are configured`,
      { status },
      [202, 409].includes(status) ? 'delivered' : 'retry',
    ]),
  ],
  [
    plain,
    [
      [
        '409 to an Idempotency-Key',
        { status: 409 },
        { kind: 'retry', said: containing('add 409 to successCodes') },
      ],
    ],
  ],
])('an answer to $preset', (given, cases) => {
  test.each(cases)('is read: %s', (_what, reply, expected) => {
    const read = readWith(given, buildEvents(3, 'e'))(reply)
    const verdict = typeof expected === 'string' ? { kind: expected } : expected
    if ('kind' in verdict) expect(read).toMatchObject(verdict)
    else expect(read).toEqual({ kind: 'each', outcomes: verdict })
    if (read.kind === 'delivered') expect(read).toEqual(verdict)
  })
})

test.each([
  ['that has no room for it now', rate(10_000), throttled],
  ['of which it takes more than a second', rate(41_942), { kind: 'each', outcomes: [{ pauseMs: 2000 }] }],
  ['of which it takes more than a minute', rate(9_999_999), { kind: 'each', outcomes: [{ pauseMs: 5000 }] }],
  ['for each stream, and has room later', streamRate('5KB'), throttled],
  ['for each stream', streamRate('10KB'), { kind: 'each', outcomes: [{ pauseMs: 2000 }] }],
  ['that is to take nothing', rate(31_457).replace('20971', '0'), throttled],
])('an event that is alone and meets the limit of a Loki tenant %s', (_what, body, expected) => {
  const loki = presetWith({ preset: 'loki', url: 'http://loki:3100' })
  const answer = { status: 429, headers: {}, body: Buffer.from(body) }
  const verdict = loki.read(answer, [buildEvent()])
  const outcomes = verdict.kind === 'each' ? { outcomes: [...verdict.outcomes.values()] } : {}
  expect({ ...verdict, ...outcomes }).toMatchObject(expected)
})

test('an answer of Elasticsearch is read for each event alone, also where two have the same id', () => {
  const [one, other] = [buildEvent({ id: 'x' }), buildEvent({ id: 'x', time: '2025-11-20T10:11:12.124Z' })]
  const items = [one, other].map(({ time }, index) => ({
    create: { ...nameless(index === 0 ? 201 : 503).create, _id: `101_x_${time}` },
  }))
  const body = Buffer.from(JSON.stringify({ errors: true, items }))
  const answer = { status: 200, headers: {}, body }
  const outcomes = new Map<object, EventOutcome>([
    [one, 'delivered'],
    [other, { retry: 'busy: x' }],
  ])
  expect(presetWith(es).read(answer, [one, other])).toMatchObject({ outcomes })
})
