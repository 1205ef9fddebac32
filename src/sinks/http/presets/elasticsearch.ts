import { hash } from 'node:crypto'
import * as z from 'zod'
import { httpUrl } from '../../../config/fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import type { SinkCheck } from '../../../ports/delivery.ts'
import type { Answer } from '../exchanges.ts'
import {
  answerObject,
  delivered,
  type EventOutcome,
  isSuccess,
  memberOf,
  noAcknowledgement,
  numberAt,
  readStatus,
  type Stop,
  textAt,
  type Verdict,
} from '../protocol/answers.ts'
import { Aws, awsMistakes, createAwsSignature, readAws } from '../protocol/aws-signature.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'
import { type Ask, below, checkByEmptyBatch, lineLayout, type Preset, withTime } from '../protocol/preset.ts'

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
    const { aws } = settings
    if (aws === undefined) return []
    const other = ['apiKey', 'username'].find((field) => field in settings)
    const both = { problem: 'cannot be used with aws', remedy: 'a request has one of them: remove the other' }
    return [...awsMistakes(aws), ...(other === undefined ? [] : [{ at: other, ...both }])]
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
      check: (ask) => checkIndex(ask, settings.url, index, read),
    }
  },
})

/** A bulk request without documents is refused after the credentials were accepted. Not every server tells the rights. */
async function checkIndex(ask: Ask, base: string, index: string, read: Preset['read']): Promise<SinkCheck> {
  const found = 'accepted the credentials'
  const empty = { body: '\n', found, refusesEmpty: ({ status }: Answer) => status === 400 }
  await checkByEmptyBatch(ask, empty, read)
  const rights = {
    method: 'POST',
    url: below(base, '/_security/user/_has_privileges'),
    body: JSON.stringify({ index: [{ names: [index], privileges: ['create_doc'] }] }),
    mediaType: 'application/json',
  } as const
  const hasRights = (answer: Answer) =>
    answer.status === 200 ? answerObject(answer)?.['has_all_requested'] : undefined
  const lacksRights: Stop = { kind: 'stop', remedy: `grant create_doc on ${index}` }
  const answer = await ask(rights, (told) => (hasRights(told) === false ? lacksRights : delivered))
  if (hasRights(answer) === true) return { found: `${found}, which may create documents in ${index}` }
  return { found, untested: 'rights on the index not tested' }
}

/** Data streams require `@timestamp`; ECS has it. */
const timestamped = withTime('@timestamp')

/** The server refuses a whole request for one `_id` over 512 bytes. */
function idOf({ id, time = '', zone }: Event): string {
  const text = `${zone.id}_${id}_${time}`
  const fits = text.isWellFormed() && Buffer.byteLength(text) <= 512
  return fits ? text : `sha256:${hash('sha256', JSON.stringify(text))}`
}

function readBulk(answer: Answer, events: readonly Event[]): Verdict {
  if (answer.status === 429) return readOverload(answer)
  if (answer.status !== 200) return readStatus(answer.status, [200])
  const items = answerObject(answer)?.['items']
  if (!Array.isArray(items)) return noAcknowledgement('the answer has no items: check url')
  const byId = new Map(events.map((event) => [idOf(event), event]))
  const hasIds = items.some((item) => idIn(item) !== '')
  if (!hasIds && items.length !== events.length)
    return noAcknowledgement(`the answer has ${items.length} items for ${events.length} documents`)
  const outcomes = new Map<Event, EventOutcome>()
  let stop: Stop | undefined
  for (const [index, item] of items.entries()) {
    const event = hasIds ? byId.get(idIn(item)) : events[index]
    if (event === undefined && idIn(item) !== '')
      return noAcknowledgement('an item has an _id that was not sent')
    if (event === undefined) continue
    const read = readItem(memberOf(item, 'create'))
    if (typeof read === 'object' && 'kind' in read) stop ??= read
    else outcomes.set(event, read)
  }
  return { kind: 'each', outcomes, ...(stop !== undefined && { stop }) }
}

function idIn(item: unknown): string {
  return textAt(item, 'create', '_id')
}

/** Errors of the whole sink that the answer reports for each item. */
const stops: Readonly<Record<string, string>> = {
  security_exception:
    'grant create_doc (and auto_configure for a new data stream) on the index to these credentials',
  cluster_block_exception: 'remove the write block of the index',
  index_not_found_exception: 'create the index, or allow Elasticsearch to create it with the first document',
  index_closed_exception: 'open the index',
  invalid_index_name_exception: 'check index',
}

const reasonStops: readonly (readonly [RegExp, string])[] = [
  [/^pipeline with id .* does not exist$/, 'check pipeline'],
  // A collection of time series: its own ids would make two documents of an event that arrives twice.
  [
    /^Document ID is not supported/,
    'create a collection of the type search: one of time series takes no ids',
  ],
]

function readItem(item: unknown): EventOutcome | Stop {
  const status = numberAt(item, 'status')
  // It is not in the data stream: a person has to fix its mapping or pipeline, and to replay it.
  if (textAt(item, 'failure_store') === 'used')
    return {
      refused: 'refused',
      answer: `Elasticsearch put it into the failure store of the data stream (${status})`,
    }
  if (isSuccess(status)) return 'delivered'
  if (status === 409) return 'duplicate'
  const [type, reason] = [textAt(item, 'error', 'type'), textAt(item, 'error', 'reason')]
  const answer = `${type}: ${reason}`
  const remedy = reasonStops.find(([pattern]) => pattern.test(reason))?.[1] ?? stops[type]
  if (remedy !== undefined && status < 429)
    return { kind: 'stop', remedy, credentials: type === 'security_exception', said: answer }
  // A pipeline that fails on a document always fails on it.
  if (type === 'fail_processor_exception') return { refused: 'refused', answer }
  if (status === 500) return { retry: answer, refuseAfter: true }
  return status === 429 || status > 500 ? { retry: answer } : { refused: 'refused', answer }
}

/** 429 means overload, or a body above the limit, which is never accepted: only the numbers differ. */
function readOverload(answer: Answer): Verdict {
  const said = textAt(answerObject(answer), 'error', 'reason')
  const [, bytes, most] = /operation_bytes=(\d+), max_[a-z_]+_bytes=(\d+)/.exec(said) ?? []
  return Number(bytes) > Number(most) ? { kind: 'split', reason: 'too_large', said } : readStatus(429)
}
