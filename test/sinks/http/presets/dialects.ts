import type { Event } from '../../../../src/domain/event/event.ts'
import type { Secret } from '../../../../src/domain/text/secret.ts'
import { formats } from '../../../../src/formats/registry.ts'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { createPreset } from '../../../../src/sinks/http/presets/registry.ts'
import type { Preset, Verdict } from '../../../../src/sinks/http/protocol/preset.ts'
import type { EventOutcome } from '../../../../src/sinks/settle.ts'
import type { PresetName } from '../../../contract/answers.ts'
import type { Dialect } from '../../../contract/scripted-destination.ts'
import { buildEvent } from '../../../formats/events.ts'
import { exportRequest, protobufAsJson } from '../../../formats/protobuf.ts'
import type { Got, Reply } from '../destination-server.ts'

/** Ids of the events in a body, in their order: every protocol holds a native line, whole or as text in JSON. */
function idsIn({ text }: Pick<Got, 'text'>): string[] {
  return [...new Set([...text.matchAll(/\bevent-\d+\b/g)].map(([id]) => id))]
}

/** A destination whose requests have the secret in a header; default: it answers for a body as a whole. */
function dialect(
  header: string,
  parts: Pick<Dialect, 'settings' | 'taken' | 'unauthorised'> & Partial<Dialect>,
): Dialect {
  return {
    idsOf: idsIn,
    secretOf: ({ headers }) => String(headers[header] ?? ''),
    refused: () => ({ reply: { status: 400, body: 'bad request' }, stored: [] }),
    ...parts,
  }
}

const inHeader = (url: string, secret: Secret) => ({ url, headers: { Authorization: secret } })
const always = (reply: Reply) => () => reply

/** REST API, "Ingest data to edge deployment". */
export const ofAxiom = (ingested: number, failed: number): Reply => ({
  status: 200,
  body: { ingested, failed, failures: failed === 0 ? [] : [{ error: 'too many fields' }], processedBytes: 1 },
})

/** "Troubleshoot HTTP Event Collector", table of possible error codes. */
export const ofSplunk = (status: number, code: number, text: string, at?: number): Reply => ({
  status,
  body: { text, code, ...(at !== undefined && { 'invalid-event-number': at }) },
})

/** In bytes; `count` and `code` are below 128, as are the lengths of the texts. */
export const partialSuccess = (count: number, said: string): Reply => ({
  status: 200,
  body: protobuf(0x0a, protobuf(0x08, count, 0x12, Buffer.from(said))),
  headers: asProtobuf,
})
export const statusOf = (status: number, code: number, said: string): Reply => ({
  status,
  body: protobuf(0x08, code, 0x12, Buffer.from(said)),
  headers: asProtobuf,
})
const asProtobuf = { 'content-type': 'application/x-protobuf' }

function protobuf(...parts: (number | Buffer)[]): Buffer {
  return Buffer.concat(
    parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.of(part.length, ...part))),
  )
}

export const ofCollector = (rejectedLogRecords: number | string): Reply => ({
  status: 200,
  body: { partialSuccess: { rejectedLogRecords, errorMessage: 'dropped' } },
})

export const tooManyShards =
  'Validation Failed: 1: this action would add [2] shards, but this cluster currently has [1000]/[1000] maximum normal shards open;'

const brokenBy: readonly (readonly [status: number, type: string, reason: string])[] = [
  [400, 'validation_exception', tooManyShards],
  [400, 'illegal_argument_exception', 'no write index is defined for alias [waf]'],
  [403, 'cluster_block_exception', 'index [waf] blocked by: [FORBIDDEN/8/index write (api)];'],
  [403, 'index_create_block_exception', 'blocked by: [FORBIDDEN/10/cluster create-index blocked (api)];'],
]

/** The `_id` of each event that was sent, by the event's id. */
const sentAs = new Map<string, string>()

export const item = (id: string, status: number, more: object = {}) => ({
  create: { _id: sentAs.get(id) ?? `101_${id}_${buildEvent().time}`, status, ...more },
})
export const failed = (id: string, status: number, type: string, reason = 'x') =>
  item(id, status, { error: { type, reason } })
export const created = (id: string) => item(id, 201)
export const bulk = (...items: object[]): Reply => ({ status: 200, body: { errors: true, items } })

function documentsIn({ text, path }: Got): string[] | undefined {
  if (!path.includes('/_bulk')) return undefined
  return [...text.matchAll(/^\{"create":\{"_id":"(101_([^"]+)_[^"_]+)"\}\}$/gm)].map(([, sent, id]) => {
    sentAs.set(id!, sent!)
    return id!
  })
}

export const rule = { ruleId: 'dcr-1', stream: 'Custom-Shield', tenantId: 't-1', clientId: 'c-1' }

/** How each destination speaks, by its documentation. */
export const dialects: Readonly<Record<PresetName, Dialect>> = {
  elasticsearch: dialect('authorization', {
    settings: (url, apiKey) => ({ url, apiKey }),
    idsOf: documentsIn,
    taken: (ids) => bulk(...ids.map(created)),
    shuffled: (ids) => bulk(...ids.toReversed().map(created)),
    refused: (ids, bad) => ({
      reply: bulk(
        ...ids.map((id) => (bad.includes(id) ? failed(id, 400, 'document_parsing_exception') : created(id))),
      ),
      stored: ids.filter((id) => !bad.includes(id)),
    }),
    fewer: (ids) => ({ reply: bulk(...ids.slice(0, 4).map(created)), stored: ids.slice(0, 4), lost: 0 }),
    brokenEach: (ids) => bulk(...ids.map((id, index) => failed(id, ...brokenBy[index % brokenBy.length]!))),
    unauthorisedEach: (ids) => bulk(...ids.map((id) => failed(id, 403, 'security_exception'))),
    unauthorised: { status: 401, body: 'Unauthorized', headers: { 'www-authenticate': 'Basic realm="x"' } },
  }),
  'splunk-hec': dialect('authorization', {
    settings: (url, token) => ({ url, token }),
    taken: always(ofSplunk(200, 0, 'Success')),
    refused: (ids, bad) => {
      const first = ids.findIndex((id) => bad.includes(id))
      return { reply: ofSplunk(400, 6, 'Invalid data format', first), stored: ids.slice(0, first) }
    },
    fewer: (ids) => ({ reply: ofSplunk(503, 9, 'Server is busy', 4), stored: ids.slice(0, 4), lost: 0 }),
    unauthorised: ofSplunk(403, 4, 'Invalid token'),
  }),
  loki: dialect('authorization', {
    settings: (url, bearerToken) => ({ url, bearerToken, tenant: 't1' }),
    taken: always({ status: 204 }),
    refused: (ids, bad) => ({
      reply: {
        status: 400,
        body: `max entry size '262144' bytes exceeded for stream '{job="x"}' while adding an entry with length '262200' bytes`,
      },
      stored: ids.filter((id) => !bad.includes(id)),
    }),
    unauthorised: { status: 401, body: 'no credentials provided' },
  }),
  otlp: dialect('authorization', {
    settings: (url, bearerToken) => ({ url, bearerToken }),
    idsOf: ({ plain }) => idsIn({ text: JSON.stringify(protobufAsJson(plain, exportRequest)) }),
    taken: always({ status: 200, body: Buffer.of(0x0a, 0), headers: asProtobuf }),
    refused: () => ({ reply: statusOf(400, 3, 'ReadInt64: invalid syntax'), stored: [] }),
    fewer: (ids) => ({ reply: partialSuccess(3, 'dropped'), stored: ids.slice(0, -3), lost: 3 }),
    unauthorised: statusOf(401, 16, 'provided authorization does not match'),
  }),
  /** Statuses: "Send logs". */
  datadog: dialect('dd-api-key', {
    settings: (url, apiKey) => ({ url, apiKey }),
    taken: always({ status: 202, body: {} }),
    unauthorised: { status: 403, body: { errors: ['Forbidden'] } },
  }),
  /** Statuses: "Logs Ingestion API in Azure Monitor", REST API call. */
  sentinel: dialect('authorization', {
    settings: (url, clientSecret) => ({ url, loginUrl: url, clientSecret, ...rule }),
    idsOf: (got) => (got.path.includes('/oauth2/') ? undefined : idsIn(got)),
    other: ({ text }) => ({
      status: 200,
      body: { access_token: `token-of-${new URLSearchParams(text).get('client_secret')}`, expires_in: 3600 },
    }),
    taken: always({ status: 204 }),
    unauthorised: { status: 401, body: { error: { code: 'InvalidToken' } } },
  }),
  /** Statuses: "HTTP Logs and Metrics Source". The address is the secret. */
  sumologic: dialect('none', {
    settings: (url) => ({ url: `${url}/receiver/v1/http/ZaVnC4dhaV3`, category: 'waf' }),
    taken: always({ status: 200 }),
    unauthorised: { status: 401 },
  }),
  /** Statuses: "Introduction to the Log API", HTTP responses. */
  newrelic: dialect('api-key', {
    settings: (url, licenseKey) => ({ url, licenseKey }),
    taken: always({ status: 202, body: { requestId: 'x' } }),
    unauthorised: { status: 403 },
  }),
  axiom: dialect('authorization', {
    settings: (url, token) => ({ url, token, dataset: 'waf' }),
    taken: (ids) => ofAxiom(ids.length, 0),
    fewer: (ids) => ({ reply: ofAxiom(ids.length - 2, 2), stored: ids.slice(2), lost: 2 }),
    unauthorised: { status: 403, body: { message: 'Forbidden' } },
  }),
  /** Statuses: "Ingesting logs via HTTP". */
  betterstack: dialect('authorization', {
    settings: (url, token) => ({ url, token }),
    taken: always({ status: 202 }),
    unauthorised: { status: 403, body: 'Unauthorized' },
  }),
  ndjson: dialect('authorization', {
    settings: inHeader,
    taken: always({ status: 200 }),
    unauthorised: { status: 401 },
  }),
  json: dialect('authorization', {
    settings: inHeader,
    taken: always({ status: 200 }),
    unauthorised: { status: 401 },
  }),
}

export const otlpInJson: Dialect = {
  ...dialects['otlp']!,
  settings: (url, bearerToken) => ({ url, bearerToken, encoding: 'json' }),
  idsOf: idsIn,
  taken: always({ status: 200, body: { partialSuccess: {} } }),
  refused: () => ({
    reply: { status: 400, body: { code: 3, message: 'ReadInt64: invalid syntax' } },
    stored: [],
  }),
  fewer: (ids) => ({ reply: ofCollector('3'), stored: ids.slice(0, -3), lost: 3 }),
  unauthorised: { status: 401, body: { code: 16, message: 'provided authorization does not match' } },
}

/** Splunk with a token that has indexer acknowledgement. */
export function acknowledgingSplunk(): Dialect {
  const plain = dialects['splunk-hec']!
  let receipt = 0
  return {
    ...plain,
    settings: (url, token) => ({ ...plain.settings(url, token), acknowledge: true }),
    idsOf: (got) => (got.path.includes('/ack') || got.text === '' ? undefined : idsIn(got)),
    other: ({ text }) =>
      text === ''
        ? ofSplunk(400, 5, 'No data')
        : { status: 200, body: { acks: Object.fromEntries(receiptsIn(text).map((id) => [id, true])) } },
    taken: () => ({ status: 200, body: { text: 'Success', code: 0, ackId: receipt++ } }),
    // No receipt says that the events before the bad one are indexed.
    refused: (ids, bad) => ({ ...plain.refused(ids, bad), stored: [] }),
    fewer: (ids) => ({ ...plain.fewer!(ids), stored: [] }),
  }
}

export function receiptsIn(text: string): readonly number[] {
  return (JSON.parse(text) as { acks: number[] }).acks
}

/** A preset with these settings, and the defaults of all others. */
export function presetWith(given: object): Preset {
  const settings = HttpSinkConfig.parse({ type: 'http', ...given })
  return createPreset(settings, formats[settings.format]())
}

interface Read {
  readonly kind: Verdict['kind']
  readonly outcomes?: Readonly<Record<string, EventOutcome>>
}

/** How such a preset reads an answer to a request with these events; outcomes are by id. */
export function readWith(given: object, events: readonly Event[]): (reply: Reply) => Read {
  const preset = presetWith(given)
  return ({ status, body = '', headers = {} }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const verdict = preset.read({ status, headers, body: Buffer.from(text) }, events)
    if (verdict.kind !== 'each') return verdict
    const byId = [...verdict.outcomes].map(([{ id }, outcome]) => [id, outcome] as const)
    return { ...verdict, outcomes: Object.fromEntries(byId) }
  }
}
