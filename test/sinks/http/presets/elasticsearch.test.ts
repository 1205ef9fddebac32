import { describe, expect, it } from 'vitest'
import { presetContract } from '../../../contract/preset.contract.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { buildEvent, buildEvents } from '../../../formats/events.ts'
import { headerOf, presetWith, readWith } from './dialects.ts'

/** The `_id` of each event that was sent, by the event's id. */
const sentAs = new Map<string, string>()
const documentId = (id: string) => sentAs.get(id) ?? `101_${id}_${buildEvent().time}`
const item = (id: string, status: number, more: object = {}) => ({
  create: { _id: documentId(id), status, ...more },
})
const created = (id: string) => item(id, 201)
const failed = (id: string, status: number, type: string, reason = 'x') =>
  item(id, status, { error: { type, reason } })
const nameless = (status: number) => ({ create: { status, error: { type: 'busy', reason: 'x' } } })
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
      ...ids.map((id) => (bad.includes(id) ? failed(id, 400, 'document_parsing_exception') : created(id))),
    ),
    stored: ids.filter((id) => !bad.includes(id)),
  }),
  fewer: (ids) => ({ reply: bulk(...ids.slice(0, 4).map(created)), stored: ids.slice(0, 4), lost: 0 }),
  unauthorisedEach: (ids) => bulk(...ids.map((id) => failed(id, 403, 'security_exception'))),
  unauthorised: { status: 401, body: 'Unauthorized', headers: { 'www-authenticate': 'Basic realm="x"' } },
})

const events = buildEvents(3, 'e')
const settings = { preset: 'elasticsearch', url: 'http://es:9200' }
const read = readWith(settings, events)
const refused = (answer: string) => ({ refused: 'refused', answer })

describe('an answer of Elasticsearch or OpenSearch', () => {
  it.each<[string, object[], Record<string, unknown>]>([
    [
      'by id, in any order',
      [failed('e-2', 409, 'version_conflict_engine_exception'), created('e-0')],
      { 'e-2': 'duplicate', 'e-0': 'delivered' },
    ],
    [
      'by position where its items have no _id, as VictoriaLogs answers',
      [nameless(201), nameless(503), nameless(201)],
      { 'e-0': 'delivered', 'e-1': { retry: 'busy: x' }, 'e-2': 'delivered' },
    ],
    [
      'by id alone where only some items have one, since any may be in another place',
      [created('e-2'), { create: { status: 201 } }],
      { 'e-2': 'delivered' },
    ],
    ['as delivered: a document dropped by a pipeline', [item('e-0', 200)], { 'e-0': 'delivered' }],
    [
      'as refused: a document in the failure store, although its status is a success',
      [item('e-0', 201, { failure_store: 'used' })],
      { 'e-0': refused('Elasticsearch put it into the failure store of the data stream (201)') },
    ],
    [
      'as delivered: a document that is not in it',
      [item('e-0', 201, { failure_store: 'not_enabled' })],
      { 'e-0': 'delivered' },
    ],
    ['as refused: no mapping', [failed('e-0', 400, 'mapper')], { 'e-0': refused('mapper: x') }],
    [
      'as refused: a pipeline that fails',
      [failed('e-0', 500, 'fail_processor_exception')],
      { 'e-0': refused('fail_processor_exception: x') },
    ],
    [
      'as refused after some tries: another error of the server',
      [failed('e-0', 500, 'exception')],
      { 'e-0': { retry: 'exception: x', refuseAfter: true } },
    ],
    [
      'as to be sent again: no active shards',
      [failed('e-0', 503, 'shards')],
      { 'e-0': { retry: 'shards: x' } },
    ],
    [
      'as to be sent again: a full disk',
      [failed('e-0', 429, 'cluster_block_exception')],
      { 'e-0': { retry: 'cluster_block_exception: x' } },
    ],
  ])('is read %s', (_what, items, outcomes) => {
    expect(read(bulk(...items))).toEqual({ kind: 'each', outcomes: new Map(Object.entries(outcomes)) })
  })

  it.each([
    ['too few items without _id', [nameless(201)], 'the answer has 1 items for 3 documents'],
    ['too many items without _id', [1, 2, 3, 4].map(() => nameless(201)), '4 items for 3'],
    [
      'an _id that was not sent',
      [created('e-0'), item('other', 201)],
      'an item has an _id that was not sent',
    ],
  ])('acknowledges nothing with %s', (_name, items, said) => {
    const why = expect.stringContaining(said) as unknown
    expect(read(bulk(...items))).toMatchObject({ kind: 'retry', code: 'bad_body', said: why })
  })

  it('is read for each event alone, also where two have the same id', () => {
    const [one, other] = [buildEvent({ id: 'x' }), buildEvent({ id: 'x', time: '2025-11-20T10:11:12.124Z' })]
    const items = [one, other].map(({ time }, index) => ({
      create: { ...nameless(index === 0 ? 201 : 503).create, _id: `101_x_${time}` },
    }))
    const body = Buffer.from(JSON.stringify({ errors: true, items }))
    const answer = { status: 200, headers: {}, body, whole: true }
    expect(presetWith(settings).read(answer, [one, other])).toMatchObject({
      outcomes: new Map<object, unknown>([
        [one, 'delivered'],
        [other, { retry: 'busy: x' }],
      ]),
    })
  })

  it.each([
    ['missing rights', 403, 'security_exception', 'no permissions', true],
    ['a write block', 403, 'cluster_block_exception', 'FORBIDDEN/8/index write (api)', false],
    ['a missing index', 404, 'index_not_found_exception', 'x', false],
    ['a closed index', 400, 'index_closed_exception', 'x', false],
    ['a missing pipeline', 400, 'illegal_argument_exception', 'pipeline with id [p] does not exist', false],
  ])('stops the sink for %s, and keeps accepted events', (_name, status, type, reason, credentials) => {
    expect(read(bulk(created('e-0'), failed('e-1', status, type, reason)))).toMatchObject({
      kind: 'each',
      outcomes: new Map([['e-0', 'delivered']]),
      stop: { kind: 'stop', credentials },
    })
  })

  const overload = (bytes: number, max: number): Reply => {
    const reason = `rejected [replica_bytes=0, coordinating_operation_bytes=${bytes}, max_coordinating_and_primary_bytes=${max}]`
    return { status: 429, body: { error: { type: 'rejected_execution_exception', reason }, status: 429 } }
  }
  it.each<[string, Reply, object]>([
    ['an overload', overload(2000, 2048), { kind: 'retry', code: 'throttled' }],
    [
      'a body over the limit of indexing pressure',
      overload(3880, 2048),
      { kind: 'split', reason: 'too_large' },
    ],
    ['a broken action line', { status: 400, body: { error: { type: 'x' } } }, { kind: 'split' }],
    ['no items', { status: 200, body: '' }, { kind: 'retry', code: 'bad_body' }],
  ])('is read as a whole: %s', (_name, reply, verdict) => {
    expect(read(reply)).toMatchObject(verdict)
  })
})

describe('a body for Elasticsearch or OpenSearch', () => {
  const url = 'http://es:9200/prefix/'
  const preset = presetWith({ ...settings, url, format: 'native', index: 'waf', pipeline: 'p' })

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
