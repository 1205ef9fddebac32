import { describe, expect, it } from 'vitest'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf } from './dialects.ts'
import { presetWith, readWith } from './reading.ts'

/** The `_id` of each event that was sent, by the event's id. */
const sentAs = new Map<string, string>()
const documentId = (id: string) => sentAs.get(id) ?? `101_${id}_${buildEvent().time}`
const created = (id: string) => ({ create: { _id: documentId(id), status: 201 } })
const conflict = (id: string) => ({
  create: {
    _id: documentId(id),
    status: 409,
    error: {
      type: 'version_conflict_engine_exception',
      reason: `[${id}]: version conflict, document already exists (current version [1])`,
    },
  },
})
const failed = (id: string, status: number, type: string, reason = 'x') => ({
  create: { _id: documentId(id), status, error: { type, reason } },
})
const bulk = (...items: object[]): Reply => ({ status: 200, body: { errors: true, items } })
const idsIn = (text: string) =>
  [...text.matchAll(/^\{"create":\{"_id":"(101_([^"]+)_[^"_]+)"\}\}$/gm)].map(([, sent, id]) => {
    sentAs.set(id!, sent!)
    return id!
  })

presetContract('elasticsearch', {
  settings: (url, apiKey) => ({ url, apiKey }),
  idsOf: ({ text, path }) => (path.includes('/_bulk') ? idsIn(text) : undefined),
  secretOf: headerOf('authorization'),
  taken: (ids) => bulk(...ids.map(created)),
  shuffled: (ids) => bulk(...ids.toReversed().map(created)),
  refused: (ids, bad) => ({
    reply: bulk(
      ...ids.map((id) =>
        bad.includes(id)
          ? failed(id, 400, 'document_parsing_exception', 'failed to parse field [source.ip] of type [ip]')
          : created(id),
      ),
    ),
    stored: ids.filter((id) => !bad.includes(id)),
  }),
  fewer: (ids) => ({ reply: bulk(...ids.slice(0, 4).map(created)), stored: ids.slice(0, 4), lost: 0 }),
  unauthorisedEach: (ids) => bulk(...ids.map((id) => failed(id, 403, 'security_exception'))),
  unauthorised: { status: 401, body: 'Unauthorized', headers: { 'www-authenticate': 'Basic realm="x"' } },
})

const events = buildEvents(3, 'e')
const bulkPreset = presetWith({ preset: 'elasticsearch', url: 'http://es:9200' })
const read = readWith({ preset: 'elasticsearch', url: 'http://es:9200' }, events)

describe('an answer of Elasticsearch or OpenSearch', () => {
  it('is read item by item, by id', () => {
    expect(read(bulk(conflict('e-2'), created('e-0')))).toEqual({
      kind: 'each',
      outcomes: new Map([
        ['e-2', 'duplicate'],
        ['e-0', 'delivered'],
      ]),
    })
  })

  it('is read by position where its items have no _id, as VictoriaLogs answers', () => {
    const items = [201, 503, 201].map((status) => ({
      create: { status, error: { type: 'busy', reason: 'x' } },
    }))
    expect(read(bulk(...items))).toMatchObject({
      kind: 'each',
      outcomes: new Map<string, unknown>([
        ['e-0', 'delivered'],
        ['e-1', { retry: 'busy: x' }],
        ['e-2', 'delivered'],
      ]),
    })
  })

  it.each([
    ['too few items without _id', [{ create: { status: 201 } }], 'the answer has 1 items for 3 documents'],
    [
      'too many items without _id',
      Array.from({ length: 4 }, () => ({ create: { status: 201 } })),
      '4 items for 3',
    ],
    [
      'an _id that was not sent',
      [created('e-0'), { create: { _id: 'another', status: 201 } }, created('e-2')],
      'an item has an _id that was not sent',
    ],
  ])('acknowledges nothing with %s', (_name, items, said) => {
    expect(read(bulk(...items))).toMatchObject({
      kind: 'retry',
      code: 'bad_body',
      said: expect.stringContaining(said) as unknown,
    })
  })

  it('acknowledges of items with and without _id only those with one, since any may be in another place', () => {
    expect(read(bulk(created('e-2'), { create: { status: 201 } }))).toMatchObject({
      outcomes: new Map([['e-2', 'delivered']]),
    })
  })

  it('refuses a document that Elasticsearch put into the failure store, although its status is a success', () => {
    const item = (failure_store: string) => ({ create: { ...created('e-0').create, failure_store } })
    expect(read(bulk(item('used')))).toMatchObject({
      outcomes: new Map([
        [
          'e-0',
          {
            refused: 'refused',
            answer: 'Elasticsearch put it into the failure store of the data stream (201)',
          },
        ],
      ]),
    })
    for (const other of ['not_enabled', 'not_applicable_or_unknown'])
      expect(read(bulk(item(other)))).toMatchObject({ outcomes: new Map([['e-0', 'delivered']]) })
  })

  it('is read for each event alone, also where two have the same id', () => {
    const [one, other] = [buildEvent({ id: 'x' }), buildEvent({ id: 'x', time: '2025-11-20T10:11:12.124Z' })]
    const items = [one, other].map(({ time }, index) => ({
      create: { _id: `101_x_${time}`, status: index === 0 ? 201 : 503, error: { type: 'busy', reason: 'x' } },
    }))
    const body = Buffer.from(JSON.stringify({ errors: true, items }))
    const verdict = bulkPreset.read({ status: 200, headers: {}, body, whole: true }, [one, other])
    expect(verdict).toEqual({
      kind: 'each',
      outcomes: new Map<object, unknown>([
        [one, 'delivered'],
        [other, { retry: 'busy: x' }],
      ]),
    })
  })

  it.each<[string, object, unknown]>([
    ['a document dropped by a pipeline', { create: { _id: documentId('e-0'), status: 200 } }, 'delivered'],
    [
      'OpenSearch 2: no mapping',
      failed('e-0', 400, 'mapper_parsing_exception'),
      { refused: 'refused', answer: 'mapper_parsing_exception: x' },
    ],
    [
      'a strict mapping',
      failed('e-0', 400, 'strict_dynamic_mapping_exception'),
      { refused: 'refused', answer: 'strict_dynamic_mapping_exception: x' },
    ],
    [
      'a pipeline that fails',
      failed('e-0', 500, 'fail_processor_exception'),
      { refused: 'refused', answer: 'fail_processor_exception: x' },
    ],
    [
      'another error of the server',
      failed('e-0', 500, 'exception'),
      { retry: 'exception: x', refuseAfter: true },
    ],
    [
      'shards that are not active',
      failed('e-0', 503, 'unavailable_shards_exception'),
      { retry: 'unavailable_shards_exception: x' },
    ],
    [
      'an overload',
      failed('e-0', 429, 'es_rejected_execution_exception'),
      { retry: 'es_rejected_execution_exception: x' },
    ],
    ['a full disk', failed('e-0', 429, 'cluster_block_exception'), { retry: 'cluster_block_exception: x' }],
  ])('sorts out %s', (_name, item, outcome) => {
    expect(read(bulk(item))).toEqual({ kind: 'each', outcomes: new Map([['e-0', outcome]]) })
  })

  it.each([
    [
      'missing rights',
      failed('e-1', 403, 'security_exception', 'no permissions for [indices:data/write/bulk[s]]'),
      true,
    ],
    ['a write block', failed('e-1', 403, 'cluster_block_exception', 'FORBIDDEN/8/index write (api)'), false],
    ['a missing index', failed('e-1', 404, 'index_not_found_exception'), false],
    ['a closed index', failed('e-1', 400, 'index_closed_exception'), false],
    [
      'a missing pipeline',
      failed('e-1', 400, 'illegal_argument_exception', 'pipeline with id [nope] does not exist'),
      false,
    ],
  ])('stops the sink for %s, and keeps accepted events delivered', (_name, item, credentials) => {
    expect(read(bulk(created('e-0'), item))).toMatchObject({
      kind: 'each',
      outcomes: new Map([['e-0', 'delivered']]),
      stop: { kind: 'stop', credentials },
    })
  })

  const overload = (bytes: number, max: number): Reply => ({
    status: 429,
    body: {
      error: {
        type: 'rejected_execution_exception',
        reason: `rejected execution of coordinating operation [coordinating_and_primary_bytes=0, replica_bytes=0, all_bytes=0, coordinating_operation_bytes=${bytes}, max_coordinating_and_primary_bytes=${max}]`,
      },
      status: 429,
    },
  })
  it.each<[string, Reply, object]>([
    ['an overload', overload(2000, 2048), { kind: 'retry', code: 'throttled' }],
    [
      'a body over the limit of indexing pressure',
      overload(3880, 2048),
      { kind: 'split', reason: 'too_large' },
    ],
    ['413 without a body', { status: 413 }, { kind: 'split', reason: 'too_large' }],
    [
      'a broken action line',
      { status: 400, body: { error: { type: 'illegal_argument_exception' } } },
      { kind: 'split' },
    ],
    ['no items', { status: 200, body: '' }, { kind: 'retry', code: 'bad_body' }],
    [
      'a security plugin that starts',
      { status: 503, body: 'OpenSearch Security not initialized.' },
      { kind: 'retry' },
    ],
    ['wrong credentials', { status: 401, body: 'Unauthorized' }, { kind: 'stop', credentials: true }],
    [
      'a wrong content type',
      { status: 406, body: { error: 'Content-Type header', status: 406 } },
      { kind: 'stop' },
    ],
  ])('is read as a whole: %s', (_name, reply, verdict) => {
    expect(read(reply)).toMatchObject(verdict)
  })
})

describe('a body for Elasticsearch or OpenSearch', () => {
  const preset = presetWith({
    preset: 'elasticsearch',
    url: 'http://es:9200/prefix/',
    format: 'native',
    index: 'waf',
    pipeline: 'p',
  })

  it('is sent to the index, through the pipeline', () => {
    const { pathname, searchParams } = new URL(preset.url)
    expect([pathname, searchParams.get('pipeline')]).toEqual(['/prefix/waf/_bulk', 'p'])
    for (const asked of ['items.*._id', 'items.*.failure_store'])
      expect(searchParams.get('filter_path')).toContain(asked)
  })

  it('has an action with the id, and a document with @timestamp', () => {
    const [action, document] = preset.piece(events[0]!, '{"v":1}').split('\n')
    expect(JSON.parse(action!)).toEqual({ create: { _id: `101_e-0_${events[0]!.time}` } })
    expect(JSON.parse(document!)).toEqual({ '@timestamp': events[0]!.time, v: 1 })
  })

  it.each([
    ['at another time', { time: '2025-11-20T10:11:12.124Z' }],
    ['without a time', { time: undefined }],
    ['in another zone', { zone: { id: 102, name: 'blog' } }],
    ['with an id that differs only in a broken character', { id: 'a\udfff' }],
  ])('is another document for the same id %s, and the same one for the same event', (_name, parts) => {
    const event = { id: 'a\ud800' }
    const actionOf = (more: object) => preset.piece(buildEvent({ ...event, ...more }), '{}').split('\n')[0]
    expect(actionOf(parts)).not.toBe(actionOf({}))
    expect(actionOf(parts)).toBe(actionOf(parts))
  })

  it('has a hash for an id over 512 bytes, for which the server would refuse the whole body', () => {
    const long = buildEvent({ id: 'ä'.repeat(300) })
    expect(preset.piece(long, '{}')).toMatch(/^\{"create":\{"_id":"sha256:[0-9a-f]{64}"\}\}/)
  })
})
