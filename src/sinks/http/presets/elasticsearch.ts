import { createHash, hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { choice, described, httpUrl } from '../../../fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import { identifyingTime } from '../../../domain/event/fingerprint.ts'
import { isObject } from '../../../domain/text/json.ts'
import type { SinkCheck } from '../../../ports/delivery.ts'
import { credentialsOf, keyRemedyOf, type Credentials } from '../../aws/credentials.ts'
import { awsKeyFields, checkAwsKeys, awsRegion } from '../../aws/settings.ts'
import { createSigner } from '../../aws/signer.ts'
import { type Answer, isSuccess } from '../../../transport/exchange.ts'
import { textOf } from '../exchanges.ts'
import {
  type Ask,
  below,
  checkByEmptyBatch,
  delivered,
  jsonOf,
  lineLayout,
  noAcknowledgement,
  type Preset,
  readerOf,
  readStatus,
  type Stop,
  type Verdict,
  withTime,
} from '../protocol/preset.ts'
import type { EventOutcome } from '../../settle.ts'
import { definePreset, type HttpSettings, limits } from '../protocol/define-preset.ts'

const AwsSettings = z
  .strictObject({
    region: awsRegion('Region of the domain or collection'),
    service: choice(
      ['es', 'aoss'],
      'es: a domain of OpenSearch Service; aoss: a collection of OpenSearch Serverless',
    ),
    ...awsKeyFields,
  })
  .superRefine(checkAwsKeys)
type AwsSettings = z.output<typeof AwsSettings>

/** The setting `aws` of a preset whose destination may be a service of AWS. */
const Aws = described(AwsSettings.optional(), 'Signs requests for AWS (Signature Version 4)')

/**
 * Elasticsearch and OpenSearch by `_bulk`: `create` with an `_id` of zone, id and time, so that a repeated event, and no
 * other one, is a conflict. Items are matched by `_id`, since OpenSearch may answer in another order than that of the
 * request; items without one, as of other servers with this API, by their position.
 */
export const elasticsearch = definePreset({
  name: 'elasticsearch',
  title: 'Elastic or OpenSearch',
  description: 'Documents for an index or data stream in Elasticsearch or OpenSearch',
  formats: ['ecs', 'native', 'raw', 'ocsf'],
  batch: { maxBytes: limits.maxBytes(5_000_000, 50_000_000) },
  credential: {
    field: 'apiKey',
    description: 'API key, encoded, as Elasticsearch shows it when it is created',
    scheme: 'ApiKey',
    optional: 'orBasic',
  },
  settings: {
    url: httpUrl('Address of the cluster', 'give username and password, apiKey or aws'),
    index: z
      .string()
      .regex(/^[^A-Z\\/*?"<>| ,#:_+-][^A-Z\\/*?"<>| ,#:]{0,254}$/, { message: 'is not the name of an index' })
      .default('logs-bunny_shield.event-default')
      .describe('Data stream, index or alias'),
    pipeline: z.string().min(1).optional().describe('Ingest pipeline; default: the pipeline of the index'),
    aws: Aws,
  },
  mistakes(settings) {
    const other = ['apiKey', 'username'].find((field) => field in settings)
    if (settings.aws === undefined || other === undefined) return []
    const remedy = 'a request has one of them: remove the other'
    return [{ at: other, problem: 'cannot be used with aws', remedy }]
  },
  create(settings) {
    const { index, pipeline, format, aws } = settings
    const read: Preset['read'] = (answer, events) => (aws && readAws(answer, aws)) ?? readBulk(answer, events)
    const url = new URL(below(settings.url, `/${encodeURIComponent(index)}/_bulk`))
    // `errors` keeps the answer from being empty.
    url.searchParams.set(
      'filter_path',
      'errors,items.*._id,items.*.status,items.*.error.type,items.*.error.reason,items.*.failure_store',
    )
    if (pipeline !== undefined) url.searchParams.set('pipeline', pipeline)
    return {
      url: url.href,
      piece: (event, line) =>
        `{"create":{"_id":${JSON.stringify(idOf(event))}}}\n${format === 'ecs' ? line : timestamped(event, line)}`,
      layout: lineLayout,
      read,
      ...(aws !== undefined && { authorise: createAwsSignature(aws) }),
      check: async (ask) => {
        const { untested, ...checked } = await checkIndex(ask, settings.url, index, read)
        const mapping = await mappingOf(ask, settings.url, index)
        const unknown = [
          ...(untested === undefined ? [] : [untested]),
          ...(mapping === undefined ? [`the mapping of ${index} not told: ${mappingRights}`] : []),
        ].join('; ')
        const note = mapping && noteOf(mapping, settings)
        return {
          ...checked,
          ...(unknown !== '' && { untested: unknown }),
          ...(note !== undefined && { note }),
        }
      },
    }
  },
})

/** A bulk request without documents is refused after the credentials were accepted. Not every server tells the rights. */
async function checkIndex(ask: Ask, base: string, index: string, read: Preset['read']): Promise<SinkCheck> {
  const found = 'accepted the credentials'
  // Of other servers and proxies a 400 has another body.
  const refusesEmpty = (answer: Answer) => answer.status === 400 && jsonOf(answer).at('error') !== undefined
  const empty = { body: '\n', found, refusesEmpty }
  await checkByEmptyBatch(ask, empty, read)
  const rights = {
    method: 'POST',
    url: below(base, '/_security/user/_has_privileges'),
    body: JSON.stringify({ index: [{ names: [index], privileges: ['create_doc'] }] }),
    mediaType: 'application/json',
  } as const
  const hasRights = (answer: Answer) =>
    answer.status === 200 ? jsonOf(answer).at('has_all_requested') : undefined
  const lacksRights: Stop = { kind: 'stop', remedy: `grant create_doc on ${index}` }
  const answer = await ask(rights, (told) => (hasRights(told) === false ? lacksRights : delivered))
  if (hasRights(answer) === true) return { found: `${found}, which may create documents in ${index}` }
  return { found, untested: 'rights on the index not tested' }
}

const mappingRights =
  'it needs view_index_metadata on the index, or manage_index_templates before the index exists'

type Reader = ReturnType<typeof readerOf>

/** The mapping of a new document: of the index, else of the templates for its name. Undefined where none is told. */
async function mappingOf(ask: Ask, base: string, index: string): Promise<Reader | undefined> {
  const any = () => delivered
  const at = (path: string) => below(base, `${path}/${encodeURIComponent(index)}`)
  const existing = await ask({ method: 'GET', url: at('') }, (answer) => readIndices(answer, index))
  const mappings = writtenTo(existing, index)?.at('mappings')
  if (isObject(mappings)) return readerOf(mappings)
  const simulated = await ask({ method: 'POST', url: at('/_index_template/_simulate_index') }, any)
  if (simulated.status !== 200) return undefined
  return readerOf(jsonOf(simulated).at('template', 'mappings'))
}

/** What refuses every document, whatever is in it. */
function readIndices(answer: Answer, index: string): Verdict {
  const written = writtenTo(answer, index)
  if (written === undefined)
    return { kind: 'stop', remedy: noWriteIndex, said: `no write index is defined for alias ${index}` }
  const blocks = ['write', 'read_only', 'read_only_allow_delete'].filter(
    (block) => String(written.at('settings', 'index', 'blocks', block)) === 'true',
  )
  if (blocks.length === 0) return delivered
  return {
    kind: 'stop',
    remedy: stops['cluster_block_exception']!,
    said: `index.blocks.${blocks[0]} is true`,
  }
}

/** The index behind a name that new documents go to; undefined where an alias has none. */
function writtenTo(answer: Answer, index: string): Reader | undefined {
  const told = jsonOf(answer)
  const names = answer.status === 200 ? Object.keys(told.at() ?? {}).sort() : []
  const indices = names.map((name) => readerOf(told.at(name)))
  const marks = indices.map((each) => each.at('aliases', index))
  // Of a data stream the last one.
  if (!marks.some(isObject)) return indices.at(-1) ?? readerOf(undefined)
  const isOnly = indices.length === 1 && readerOf(marks[0]).at('is_write_index') !== false
  return isOnly
    ? indices[0]
    : indices[marks.findIndex((mark) => readerOf(mark).at('is_write_index') === true)]
}

type Mapped = Pick<HttpSettings, 'format' | 'include'> & { readonly index: string }

/** Of the formats: where labels, log and what no field carries are. Their members may have other types in each event. */
const openMembers: Readonly<Record<string, string>> = {
  ecs: 'bunny.shield.',
  ocsf: 'unmapped.',
  native: '',
  raw: '',
}

/** What the destination would refuse later, because of the values that it got first. */
function noteOf(mapping: Reader, { format, include = {}, index }: Mapped): string | undefined {
  if (['false', 'strict', 'runtime'].includes(String(mapping.at('dynamic')))) return undefined
  if (mapping.at('date_detection') !== false || mapping.at('numeric_detection') === true)
    return `${index} takes the types of fields from the first values, and would refuse other ones: install config/elasticsearch, and name the index logs-bunny_shield.event-…`
  const byDefault = format === 'raw'
  const { labels = byDefault, log = byDefault } = include
  const included = [labels && 'labels', log && 'log', (labels || log) && format !== 'raw' && 'other']
  const open = included.filter(
    (name) => name !== false && !isClosed(mapping, `${openMembers[format]}${name}`),
  )
  if (open.length === 0) return undefined
  return `in ${index} the members of ${open.join(', ')} have the types of their first values, and others would be refused: map them as objects with enabled: false, or do not include them`
}

/** Whether members of any type fit into a field. */
function isClosed(mapping: Reader, field: string): boolean {
  const path = field.split('.').flatMap((name) => ['properties', name])
  const isFlat = ['flattened', 'flat_object'].includes(mapping.text(...path, 'type'))
  return (
    isFlat || mapping.at(...path, 'enabled') === false || String(mapping.at(...path, 'dynamic')) === 'false'
  )
}

/** Data streams require `@timestamp`; ECS has it. */
const timestamped = withTime('@timestamp')

/** The server refuses a whole request for one `_id` over 512 bytes. */
function idOf({ id, time, zone }: Event): string {
  const text = `${zone.id}_${id}_${identifyingTime(time)}`
  const fits = text.isWellFormed() && Buffer.byteLength(text) <= 512
  return fits ? text : `sha256:${hash('sha256', JSON.stringify(text))}`
}

function readBulk(answer: Answer, events: readonly Event[]): Verdict {
  if (answer.status === 429) return readOverload(answer)
  if (answer.status !== 200) return readStatus(answer.status, [200])
  const given = jsonOf(answer).at('items')
  if (!Array.isArray(given)) return noAcknowledgement('the answer has no items: check url')
  const items = given.map(readerOf)
  const ids = items.map((item) => item.text('create', '_id'))
  const byId = new Map(events.map((event) => [idOf(event), event]))
  const hasIds = ids.some((id) => id !== '')
  if (!hasIds && items.length !== events.length)
    return noAcknowledgement(`the answer has ${items.length} items for ${events.length} documents`)
  const outcomes = new Map<Event, EventOutcome>()
  let stop: Stop | undefined
  for (const [index, item] of items.entries()) {
    const event = hasIds ? byId.get(ids[index]!) : events[index]
    if (event === undefined && ids[index] !== '')
      return noAcknowledgement('an item has an _id that was not sent')
    if (event === undefined || item.at('create') === undefined) continue
    const read = readItem(item)
    if (typeof read === 'object' && 'kind' in read) stop ??= read
    else outcomes.set(event, read)
  }
  return { kind: 'each', outcomes, ...(stop !== undefined && { stop }) }
}

/** Errors of the whole sink that the answer reports for each item. */
const stops: Readonly<Record<string, string>> = {
  security_exception:
    'grant create_doc (and auto_configure for a new data stream) on the index to these credentials',
  cluster_block_exception: 'remove the write block of the index',
  index_not_found_exception: 'create the index, or allow Elasticsearch to create it with the first document',
  index_closed_exception: 'open the index',
  index_create_block_exception:
    'remove the block that keeps the cluster from creating an index (a full disk sets it)',
  invalid_index_name_exception: 'check index',
  routing_missing_exception: 'allow documents without a routing value in the index',
}

const noWriteIndex = 'set is_write_index for one index of the alias'

const reasonStops: readonly (readonly [RegExp, string])[] = [
  [/^pipeline with id .* does not exist$/, 'check pipeline'],
  [
    /\bmaximum (?:\w+ )?shards open/,
    'the cluster has as many shards as it may have: delete old indices, or raise cluster.max_shards_per_node',
  ],
  [/no write index is defined for alias|has more than one index associated with it/i, noWriteIndex],
  [/forbids index auto creation/, 'create the index, or set allow_auto_create in its template'],
  // A collection of time series: its own ids would make two documents of an event that arrives twice.
  [
    /^Document ID is not supported/,
    'create a collection of the type search: one of time series takes no ids',
  ],
]

/** Statuses of an item that say nothing of its document: no rights, no such index. */
const ofPlace = new Set([401, 403, 404, 405])

function readItem(item: ReturnType<typeof readerOf>): EventOutcome | Stop {
  const status = item.number('create', 'status')
  // It is not in the data stream: a person has to fix its mapping or pipeline, and to replay it.
  if (item.text('create', 'failure_store') === 'used')
    return {
      refused: 'refused',
      answer: `Elasticsearch put it into the failure store of the data stream (${status})`,
    }
  if (isSuccess(status)) return 'delivered'
  if (status === 409) return 'duplicate'
  const [type, reason] = [item.text('create', 'error', 'type'), item.text('create', 'error', 'reason')]
  const answer = `${type}: ${reason}`
  const own = reasonStops.find(([pattern]) => pattern.test(reason))?.[1] ?? stops[type]
  const remedy = own ?? (ofPlace.has(status) ? 'check the index, its blocks and the rights on it' : undefined)
  if (remedy !== undefined && status < 429)
    return {
      kind: 'stop',
      remedy,
      credentials: status === 401 || type === 'security_exception',
      said: answer,
    }
  // A pipeline that fails on a document always fails on it.
  if (type === 'fail_processor_exception') return { refused: 'refused', answer }
  if (status === 500) return { retry: answer, refuseAfter: true }
  return status === 429 || status > 500 ? { retry: answer } : { refused: 'refused', answer }
}

/** 429 means overload, or a body above the limit, which is never accepted: only the numbers differ. */
function readOverload(answer: Answer): Verdict {
  const said = jsonOf(answer).text('error', 'reason')
  const [, bytes, most] = /operation_bytes=(\d+), max_[a-z_]+_bytes=(\d+)/.exec(said) ?? []
  return Number(bytes) > Number(most) ? { kind: 'split', reason: 'too_large', said } : readStatus(429)
}

/** Signs method, address and body as sent of each request. Refused credentials are read again, or asked for anew. */
function createAwsSignature(aws: AwsSettings): NonNullable<Preset['authorise']> {
  const credentials = credentialsOf(aws)
  const sign = createSigner(aws.service, aws.region)
  let latest: Credentials | undefined
  return async ({ method, url, body, nowMs, refused }) => {
    const before = latest
    latest = await credentials(refused && before)
    if (refused !== undefined && isDeepStrictEqual(latest, before)) return refused
    const digest = createHash('sha256').update(body).digest()
    return (await sign({ method, url: url.href, digest, nowMs }, latest)).headers
  }
}

const rights = {
  es: 'allow these credentials es:ESHttpPost on the domain; with fine-grained access control, map them to a role there that may write to the index',
  aoss: 'allow these credentials aoss:APIAccessAll in a policy of their role or user, and aoss:CreateIndex and aoss:WriteDocument in a data access policy of the collection',
}

/** Errors of settings and of the clock, in the words of AWS. */
const awsRemedies: readonly (readonly [RegExp, string])[] = [
  [/signature (?:expired|not yet current)/i, "set this host's clock, for example by NTP"],
  [/scoped to a valid region/i, 'set aws.region to that of the domain or collection'],
  [
    /scoped to (?:the )?correct service/i,
    'set aws.service: es for a domain, aoss for a collection of OpenSearch Serverless',
  ],
]

/** Why AWS refuses a request before the destination reads it; undefined for any other answer. */
function readAws(answer: Answer, { service }: AwsSettings): Stop | undefined {
  if (answer.status !== 401 && answer.status !== 403) return undefined
  const said = textOf(answer)
  const remedy = awsRemedies.find(([pattern]) => pattern.test(said))?.[1]
  if (remedy !== undefined) return { kind: 'stop', remedy }
  return { kind: 'stop', remedy: keyRemedyOf(said) ?? rights[service], credentials: true }
}
