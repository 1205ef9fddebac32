import { describe, expect, test } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { formats } from '../../../../src/formats/registry.ts'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { presets } from '../../../../src/sinks/http/presets/registry.ts'
import type { PresetName } from '../../../contract/answers.ts'
import { answerWith, failureOf, type Got, never, type Reply, serve, ship } from '../destination-server.ts'
import { dialects, presetWith } from './dialects.ts'

const token: Reply = { status: 200, body: { access_token: 'x'.repeat(20), expires_in: 3600 } }

/** The destination answers by the end of the method and path, and otherwise with 404; tokens are issued unless given. */
async function sinkWith(preset: PresetName, given: Readonly<Record<string, Reply>>, more: object = {}) {
  const answers: Record<string, Reply> = { '/oauth2/v2.0/token': token, ...given }
  const got: Got[] = []
  const server = await serve((request, response) => {
    got.push(request)
    const asked = `${request.method} ${request.path.replace(/\?.*/, '')}`
    const found = Object.entries(answers).find(([end]) => asked.endsWith(end))
    answerWith(response, found?.[1] ?? { status: 404 })
  })
  const own = dialects[preset]!.settings(server.url, new Secret('s3cr3t-token'))
  const settings = HttpSinkConfig.parse({ type: 'http', preset, ...own, ...more })
  const { sink } = ship(settings.url!, { ...settings }, { format: formats[settings.format]() })
  return { sink, got }
}

const code = (number: number, text: string) => ({ text, code: number })
const noDocuments: Reply = {
  status: 400,
  body: { error: { type: 'parse_exception', reason: 'request body is required' }, status: 400 },
}
const noStreams = 'error at least one valid stream is required for ingestion'

test.each<[PresetName, string, Reply, string]>([
  ['elasticsearch', '_bulk', noDocuments, 'accepted the credentials'],
  ['splunk-hec', '/event', { status: 400, body: code(5, 'No data') }, 'accepted the token'],
  ['loki', '/push', { status: 422, body: noStreams }, 'accepted the credentials'],
  // Behind some gateways 422 arrives as 400.
  ['loki', '/push', { status: 400, body: noStreams }, 'accepted the credentials'],
  // Loki before 3, and other servers with its API.
  ['loki', '/push', { status: 204 }, 'accepted the credentials'],
  ['otlp', '/v1/logs', { status: 204 }, 'accepted an empty export'],
  ['otlp', '/v1/logs', { status: 422, body: noStreams }, 'accepted an empty export'],
  ['otlp', '/v1/logs', { status: 200, body: { partialSuccess: {} } }, 'accepted an empty export'],
  ['sumologic', '', { status: 200 }, 'accepted an empty body'],
  ['newrelic', '/', { status: 202 }, 'accepted the license key'],
  ['axiom', '/v1/ingest/waf', { status: 400, body: { message: 'no events' } }, 'accepted the token'],
  ['axiom', '/v1/ingest/waf', { status: 200, body: { ingested: 0, failed: 0 } }, 'accepted the token'],
  ['betterstack', '/', { status: 202 }, 'accepted the token and an empty batch'],
  ['sentinel', '/Custom-Shield', { status: 204 }, 'accepted the token and an empty batch'],
  ['json', 'HEAD /', { status: 405 }, 'answered 405 to HEAD'],
  ['ndjson', 'OPTIONS /', { status: 204 }, 'answered 204 to OPTIONS'],
  ['datadog', 'HEAD /', { status: 200 }, 'answered 200 to HEAD'],
])('a check finds that %s accepts events, and sends none: %s', async (preset, at, reply, found) => {
  const { sink, got } = await sinkWith(preset, { [at]: reply })
  expect(await sink.check(never)).toMatchObject({ found })
  expect(got.flatMap(({ ids }) => ids)).toEqual([])
})

test.each<[PresetName, string, Reply, RegExp]>([
  ['elasticsearch', '_bulk', { status: 401, body: 'x' }, /answered 401 \(x\): check the credentials/],
  ['splunk-hec', '/event', { status: 403, body: code(4, 'Invalid') }, /403 \(code 4: Invalid\): check token/],
  ['splunk-hec', '/event', { status: 503, body: code(18, 'HEC is unhealthy') }, /answered 503/],
  ['loki', '/push', { status: 401, body: 'no org id' }, /answered 401 \(no org id\)/],
  ['otlp', '/another', { status: 200 }, /answered 404: check url/],
  ['elasticsearch', '_bulk', { status: 200, body: { ok: true } }, /has no items: check url/],
  ['splunk-hec', '/event', { status: 200, body: { ok: true } }, /not an answer of Splunk: check url/],
  ['otlp', '/v1/logs', { status: 200, body: 'ok' }, /not an answer of OTLP: check url/],
  ['axiom', '/v1/ingest/waf', { status: 200, body: { ok: true } }, /ingested events: check url/],
  ['betterstack', '/', { status: 200 }, /this destination acknowledges with 202: check url/],
  ['betterstack', '/', { status: 402 }, /check the quota/],
  ['json', 'HEAD /', { status: 302 }, /answered 302: redirects are not followed/],
  ['axiom', '/waf', { status: 403, body: 'token s3cr3t-token' }, /answered 403 \(token \*\*\*\)/],
  [
    'sentinel',
    '/oauth2/v2.0/token',
    { status: 401, body: { error: 'bad' } },
    /401 to the request for a token \(bad\): check/,
  ],
  ['sentinel', '/Custom-Shield', { status: 403 }, /Monitoring Metrics Publisher/],
])('a check finds why %s would accept nothing: %s', async (preset, at, reply, message) => {
  const { sink } = await sinkWith(preset, { [at]: reply })
  const failure = await failureOf(sink.check(never))
  expect(failure.message).toMatch(message)
  expect(failure.message).not.toContain('s3cr3t')
})

test.each<[rights: Reply, found: object]>([
  [
    { status: 200, body: { has_all_requested: true } },
    { found: 'accepted the credentials, which may create documents in waf' },
  ],
  [
    { status: 404 },
    {
      found: 'accepted the credentials',
      untested: expect.stringMatching(/^rights on the index not tested; /) as string,
    },
  ],
  [
    { status: 200, body: { has_all_requested: false } },
    { message: expect.stringMatching(/grant create_doc on waf$/) as string },
  ],
])('a check of Elasticsearch tells what the server says of the rights: %o', async (rights, found) => {
  const given = { _bulk: noDocuments, _has_privileges: rights }
  const { sink } = await sinkWith('elasticsearch', given, { index: 'waf' })
  expect(await sink.check(never).catch((error: unknown) => error)).toMatchObject(found)
})

const guesses =
  /takes the types of fields from the first values, .*name the index logs-bunny_shield\.event-…$/
const opens = (names: string) => new RegExp(`the members of ${names} have the types of their first values`)
const ours = { date_detection: false, properties: { bunny: { properties: { shield: { properties: {} } } } } }
const flat = (type: string) => ({
  date_detection: false,
  properties: {
    bunny: { properties: { shield: { properties: { labels: { type }, log: { type }, other: { type } } } } },
  },
})
const all = { include: { labels: true, log: true } }

test.each<[format: object, mappings: object | undefined, note: RegExp | undefined]>([
  [{}, {}, guesses],
  [{}, undefined, guesses],
  [{}, { date_detection: true }, guesses],
  [{}, { date_detection: false, numeric_detection: true }, guesses],
  [{}, { dynamic: 'false' }, undefined],
  [{}, { dynamic: 'strict' }, undefined],
  [{}, ours, undefined],
  [all, ours, opens('labels, log, other')],
  [all, flat('flattened'), undefined],
  [all, flat('flat_object'), undefined],
  [{ format: 'native' }, ours, undefined],
  [{ format: 'native', ...all }, ours, opens('labels, log, other')],
  [
    { format: 'native', include: { log: true } },
    { date_detection: false, properties: { log: { type: 'flattened' } } },
    opens('other'),
  ],
  [
    { format: 'native', include: { labels: true } },
    { date_detection: false, properties: { labels: { enabled: false }, other: { dynamic: false } } },
    undefined,
  ],
  [{ format: 'raw' }, ours, opens('labels, log')],
  [{ format: 'ocsf' }, ours, undefined],
  [{ format: 'ocsf', ...all }, ours, opens('labels, log, other')],
])('a check of Elasticsearch with %j and the mapping %j notes %s', async (format, mappings, note) => {
  const existing: Reply = {
    status: 200,
    body: { 'waf-000001': { mappings: { dynamic: 'false' } }, 'waf-000002': { mappings } },
  }
  const template: Reply = { status: 200, body: { template: { mappings }, overlapping: [] } }
  const answers: Readonly<Record<string, Reply>>[] = [
    { 'GET /waf': existing },
    { 'GET /waf': { status: 404, body: {} }, '/_simulate_index/waf': template },
  ]
  for (const given of mappings === undefined ? answers.slice(1) : answers) {
    const { sink } = await sinkWith(
      'elasticsearch',
      { _bulk: noDocuments, ...given },
      { index: 'waf', ...format },
    )
    const checked = await sink.check(never)
    expect(checked?.note ?? '').toMatch(note ?? /^$/)
    expect(checked?.untested).toBe('rights on the index not tested')
  }
})

const blocked = (block: string) => ({ settings: { index: { blocks: { [block]: 'true' } } } })
const alias = (mark: object) => ({ aliases: { waf: mark } })

test.each<[indices: object, message: RegExp]>([
  [{ waf: blocked('write') }, /index\.blocks\.write is true\): remove the write block/],
  [{ waf: blocked('read_only') }, /index\.blocks\.read_only is true/],
  [{ waf: blocked('read_only_allow_delete') }, /index\.blocks\.read_only_allow_delete is true/],
  [{ 'waf-1': alias({}), 'waf-2': alias({}) }, /no write index .* waf\): set is_write_index/],
  [{ 'waf-1': alias({ is_write_index: false }) }, /no write index/],
  [
    { 'waf-1': { ...alias({ is_write_index: true }), ...blocked('write') }, 'waf-2': alias({}) },
    /index\.blocks\.write is true/,
  ],
])('a check of Elasticsearch names what would refuse every document: %j', async (indices, message) => {
  const given = { _bulk: noDocuments, 'GET /waf': { status: 200, body: indices } }
  const { sink } = await sinkWith('elasticsearch', given, { index: 'waf' })
  expect((await failureOf(sink.check(never))).message).toMatch(message)
})

test.each<[indices: Readonly<Record<string, object>>, note: RegExp]>([
  [{ 'waf-1': alias({ is_write_index: true }), 'waf-2': { ...alias({}), ...blocked('write') } }, /^$/],
  [{ 'waf-1': alias({}) }, /^$/],
  [{ '.ds-waf-2026.11.28-000001': blocked('write'), '.ds-waf-2026.11.28-000002': {} }, /^$/],
  [{ 'waf-1': { ...alias({ is_write_index: true }), mappings: {} }, 'waf-2': alias({}) }, guesses],
])('a check of Elasticsearch looks at the index that is written to: %j', async (indices, note) => {
  const mapped = Object.entries(indices).map(([name, about]) => [name, { mappings: ours, ...about }])
  const existing = { status: 200, body: Object.fromEntries(mapped) as object }
  const given = { _bulk: noDocuments, 'GET /waf': existing }
  const { sink } = await sinkWith('elasticsearch', given, { index: 'waf' })
  expect((await sink.check(never))?.note ?? '').toMatch(note)
})

test('a check of Elasticsearch says which rights the mapping needs', async () => {
  const { sink } = await sinkWith(
    'elasticsearch',
    { _bulk: noDocuments, '': { status: 403 } },
    { index: 'waf' },
  )
  expect((await sink.check(never))?.untested).toMatch(
    /the mapping of waf not told: it needs view_index_metadata/,
  )
})

test.each<[Reply, string]>([
  [{ status: 200, body: { acks: { '2147483647': false } } }, 'accepted the token, with acknowledgement'],
  [
    { status: 400, body: code(14, 'ACK is disabled') },
    '400 (code 14: ACK is disabled): turn indexer acknowledgement on for this token, or remove acknowledge: true',
  ],
  [{ status: 404 }, 'answered 404: check url'],
])('a check of Splunk with acknowledge asks for an acknowledgement: %o', async (acks, found) => {
  const given = { '/event': { status: 400, body: code(5, 'No data') }, '/collector/ack': acks }
  const { sink, got } = await sinkWith('splunk-hec', given, { acknowledge: true })
  const checked = await sink.check(never).catch((error: unknown) => ({ found: String(error) }))
  expect(checked?.found).toContain(found)
  const [event, ack] = got
  const channel = event!.headers['x-splunk-request-channel']
  expect(channel).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/)
  expect([ack!.path, ack!.headers['x-splunk-request-channel'], ack!.text]).toEqual([
    `/services/collector/ack?channel=${String(channel)}`,
    channel,
    '{"acks":[2147483647]}',
  ])
})

describe.each([200, 400, 404, 422, 503])('a page of HTML with %d', (status) => {
  const html = { status, body: '<title>Log in</title>', headers: { 'content-type': 'text/html' } }
  test.each(presets.map(({ name }) => name))(
    'is no answer of a destination to a check of %s',
    async (preset) => {
      const { sink } = await sinkWith(preset, { '': html })
      const failure = await failureOf(sink.check(never))
      expect(failure.message).toContain(`answered ${status}`)
      expect(failure.message).toMatch(status === 503 ? /./ : /check (?:url|the)/)
    },
  )
})

test.each<[PresetName, Reply]>([
  ['elasticsearch', { status: 400, body: 'Client sent an HTTP request to an HTTPS server.' }],
  ['newrelic', { status: 400, body: 'Client sent an HTTP request to an HTTPS server.' }],
  ['axiom', { status: 400 }],
])('a check of %s is not content with the 400 of another server', async (preset, reply) => {
  const { sink } = await sinkWith(preset, { '': reply })
  expect((await failureOf(sink.check(never))).message).toMatch(/answered 400.*: check url and preset/)
})

test('a check of any endpoint knows the page with which a server refuses HEAD, but not its page of an OPTIONS', async () => {
  const html = (status: number): Reply => ({ status, headers: { 'content-type': 'text/html' } })
  const found = await sinkWith('ndjson', { 'HEAD /': html(405) })
  expect(await found.sink.check(never)).toMatchObject({ found: 'answered 405 to HEAD' })
  const { sink } = await sinkWith('ndjson', { 'HEAD /': html(404), 'OPTIONS /': html(200) })
  expect((await failureOf(sink.check(never))).message).toContain('a page of HTML')
})

// API reference, Authentication, "Validate API key": 200 {"valid":true}, 403 {"errors":["Forbidden"]}.
test.each([
  [200, { kind: 'delivered' }],
  [403, { kind: 'stop', credentials: true }],
  [503, { kind: 'retry', code: 'server_error' }],
])('a check asks the site of Datadog whether the key is valid: %i', async (status, verdict) => {
  const datadog = presetWith({ preset: 'datadog', site: 'datadoghq.eu', apiKey: new Secret('k') })
  const checked = await datadog.check(async (request, read) => {
    expect(request).toEqual({ method: 'GET', url: 'https://api.datadoghq.eu/api/v1/validate' })
    const answer = { status, headers: {}, body: Buffer.from('{}') }
    expect(read!(answer)).toMatchObject(verdict)
    return answer
  })
  expect(checked).toEqual({ found: 'accepted the API key' })
})
