import * as z from 'zod'
import { addIssue, httpUrl } from '../../../fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import { type Answer, isSuccess } from '../../../transport/exchange.ts'
import { below, delivered, noAcknowledgement, readStatus, type Verdict } from '../protocol/preset.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'

const notALabel = { problem: 'is not a label name', remedy: 'use letters, digits and "_", a letter first' }

/**
 * Grafana Loki's push API. An ingester answers for a body as for its last stream: an error of another one, such as a
 * limit that it meets, is a 204, and its entries are lost. So a body has one stream. When Loki answers 400 it has stored
 * the valid entries of the body. It refuses an entry that is an hour older than the newest of its stream; with the hour
 * of the event as a label it accepts events in any order. A tenant has 5,000 active streams by default: labels are what
 * has few values in an hour, whatever the number of zones.
 */
export const loki = definePreset({
  name: 'loki',
  title: 'Grafana Loki',
  description: 'Streams for Grafana Loki',
  batch: {
    // Loki's ingesters always answer 500 to a body of 4 MiB or more.
    maxBytes: limits.maxBytes(1_000_000, 3_000_000),
    maxEventBytes: limits.maxEventBytes(256_000, 3_000_000),
    // reject_old_samples_max_age.
    maxAgeHours: limits.maxAgeHours(168, 876_000),
  },
  credential: { field: 'bearerToken', description: 'Bearer token', scheme: 'Bearer', optional: 'orBasic' },
  settings: {
    url: httpUrl('Address of Loki', 'give username and password, or bearerToken'),
    tenant: z
      .string()
      .regex(/^[\x21-\x7e]+$/, { message: 'is not the name of a tenant' })
      .optional()
      .describe('Tenant (X-Scope-OrgID)'),
    labels: z
      .record(z.string(), z.string().min(1).max(2048))
      .superRefine((given, context) => {
        const wrong = Object.keys(given).find((name) => !/^[a-zA-Z_]\w*$/.test(name))
        if (wrong !== undefined) addIssue(context, notALabel, [wrong])
      })
      .default({ job: 'shieldlog' })
      .describe('Labels of every stream, in addition to action and hour'),
    hourLabel: z
      .boolean()
      .default(true)
      .describe('Adds the label hour, the hour of the event; set false if Loki shards streams by time'),
    structuredMetadata: z
      .boolean()
      .default(true)
      .describe(
        'Adds zone, severity, id, rule and client of the event as structured metadata; Loki before schema v13 has none: zone and severity are labels then',
      ),
  },
  create({ url, labels: given, set = {}, hourLabel, structuredMetadata, tenant }) {
    // Labels have no dots.
    const constants = Object.entries(set).map(([name, value]) => [name.replace('.', '_'), value] as const)
    const labels = { ...given, ...Object.fromEntries(constants) }
    const streamOf = ({ zone, action, severity, time }: Event) => {
      const hour = hourLabel && time !== undefined ? time.slice(0, 13) : undefined
      const many = structuredMetadata ? {} : { shield_zone: String(zone.id), severity }
      const stream = { ...labels, ...many, action, hour }
      return `{"stream":${textsOf(stream)},"values":[`
    }
    return {
      url: below(url, '/loki/api/v1/push'),
      headers: tenant === undefined ? {} : { 'x-scope-orgid': tenant },
      piece(event, line) {
        const metadata = structuredMetadata ? `,${metadataOf(event)}` : ''
        return `["${nanosecondsOf(event)}",${JSON.stringify(line)}${metadata}]`
      },
      layout: {
        before: '{"streams":[',
        between: ',',
        after: ']}',
        group: (event) => ({ before: streamOf(event), after: ']}' }),
        isOneGroup: true,
      },
      needsTime: true,
      read: readPush,
      check: {
        body: '{"streams":[]}',
        found: 'accepted the credentials',
        // Older versions, and other servers with this API, accept a push without streams.
        refusesEmpty: ({ status, body }) =>
          status === 422 || (status === 400 && body.includes('at least one valid stream')),
      },
    }
  },
})

/** As text, since a number could not hold them. */
function nanosecondsOf({ time = '', timeMs = 0 }: Event): string {
  const fraction = /\.(\d+)Z$/.exec(time)?.[1] ?? ''
  return `${Math.floor(timeMs / 1000)}${fraction.padEnd(9, '0')}`
}

function metadataOf({ id, zone, severity, rule, client, pop, request }: Event): string {
  return textsOf({
    shield_zone: String(zone.id),
    severity,
    log_id: id,
    rule_id: rule?.id,
    country: client?.country,
    asn: client?.asn?.toString(),
    request_id: request?.id,
    pop,
  })
}

function textsOf(texts: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(texts).filter(([, text]) => text !== undefined && text !== '')
  return JSON.stringify(
    Object.fromEntries(given.map(([key, text]) => [key, text!.slice(0, 2000).toWellFormed()])),
  )
}

/** Ingestion is blocked for the tenant. */
const blockedStatus = 260

function readPush(answer: Answer, events: readonly Event[]): Verdict {
  const { status } = answer
  const said = answer.body.toString()
  if (status === blockedStatus) return { kind: 'stop', remedy: 'unblock the ingestion of this tenant' }
  if (isSuccess(status)) {
    // Other servers at the address, and gateways in front of it, answer with a text.
    const isWell = status === 204 || (status === 200 && answer.unread === undefined && said === '')
    const other = 'Loki acknowledges with 204, or with 200 and no body: check url'
    return isWell ? delivered : noAcknowledgement(`${other}; the answer is ${status} ${said}`)
  }
  if (status === 500 && /received message larger than max/.test(said))
    return { kind: 'split', reason: 'too_large' }
  if (status === 500 && /label name is empty/.test(said)) return { kind: 'split', reason: 'refused' }
  // There is room for another stream when one that Loki has is idle.
  if (status === 429 && said.includes('active stream limit exceeded'))
    return { kind: 'retry', code: 'throttled', said }
  if (status === 429) return readLimit(said, events, readStatus(status))
  // Loki has stored the valid entries of the body then, and takes those that come again in the halves for the same.
  if (status !== 400) return readStatus(status)
  const remedy = 'set structuredMetadata: false, or allow structured metadata in Loki (schema v13)'
  if (said.includes('structured metadata, but this feature is disallowed')) return { kind: 'stop', remedy }
  return { kind: 'split', reason: /too far behind|too old/.test(said) ? 'too_old' : 'refused', said }
}

/** So long a tenant may need to have room for one event; its limits for a moment and for a second may differ. */
const mostPauseMs = 5_000

/**
 * A body that is larger than the limit of the tenant or of its stream may never be taken: it is halved. A single event
 * has room after a pause, or never: Loki does not tell the limit for a moment.
 */
function readLimit(said: string, events: readonly Event[], later: Verdict): Verdict {
  // One by one: a pattern for both takes minutes for a long answer that repeats the first.
  const limit = bytesIn(/limit: (\d+) ?(bytes|[KMGT]?B)\/sec\)/.exec(said))
  const bytes = bytesIn(/ totaling '?(\d+)'? ?(bytes|[KMGT]?B)/.exec(said))
  // The limit of a tenant that is to take nothing.
  if (limit === 0) return later
  // Of a stream each event is told with its own size.
  const isLarge = bytes > limit || said.includes('Per stream rate limit exceeded')
  if (events.length > 1) return isLarge ? { kind: 'split', reason: 'too_large', said } : later
  if (bytes <= limit) return later
  const pauseMs = Math.min(Math.ceil((bytes * 1000) / limit), mostPauseMs)
  return { kind: 'each', outcomes: new Map([[events[0]!, { retry: said, pauseMs }]]) }
}

function bytesIn(found: readonly string[] | null): number {
  const [, count = '0', unit = 'B'] = found ?? []
  return Number(count) * 1024 ** Math.max(0, 'BKMGT'.indexOf(unit[0]!))
}
