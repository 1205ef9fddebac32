import { choice, httpUrl } from '../../../fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import { type Answer, isSuccess } from '../../../transport/exchange.ts'
import {
  acknowledgedBut,
  below,
  delivered,
  jsonOf,
  noAcknowledgement,
  type Preset,
  readStatus,
  type Verdict,
} from '../protocol/preset.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'

/**
 * Log records for any receiver of OTLP over HTTP: https://opentelemetry.io/docs/specs/otlp. A body in protobuf is the JSON
 * form of it in other bytes, so that both say the same. A receiver that drops some records of a body answers how many, not
 * which, and the body must not be sent again.
 */
export const otlp = definePreset({
  name: 'otlp',
  title: 'OpenTelemetry (OTLP)',
  description: 'Log records for an OpenTelemetry Collector, or another receiver of OTLP over HTTP',
  formats: ['otlp'],
  batch: {
    // The Collector accepts 20 MiB.
    maxBytes: limits.maxBytes(2_000_000, 20_000_000),
  },
  credential: { field: 'bearerToken', description: 'Bearer token', scheme: 'Bearer', optional: 'orNone' },
  settings: {
    url: httpUrl('Address of the receiver, often with port 4318', 'give bearerToken'),
    encoding: choice(['protobuf', 'json'], 'How bodies are encoded'),
  },
  create: ({ url, set = {}, encoding }) => ({
    url: below(url, '/v1/logs'),
    layout: {
      before: '{"resourceLogs":[',
      between: ',',
      after: ']}',
      group: (event) => ({ before: resourceOf(event, set), after: ']}]}' }),
    },
    ...(encoding !== 'json' && protobuf),
    read: (answer, events) => readExport(answer, events, encoding),
    check: {
      // In protobuf a body without a resource would have no bytes.
      body: '{"resourceLogs":[{}]}',
      found: 'accepted an empty export',
      // Loki does, after it accepted the credentials.
      refusesEmpty: ({ body }) => body.includes('at least one valid stream'),
    },
  }),
})

/** Loaded with the first body: other sinks do without. */
const codec = () => import('./otlp-protobuf.ts')
const protobuf: Pick<Preset, 'mediaType' | 'wire'> = {
  mediaType: 'application/x-protobuf',
  wire: {
    encode: async (text) => (await codec()).bytesOf(text),
    decode: async (answer) => (await codec()).jsonAnswer(answer),
  },
}

/** One resource for each shield zone. */
function resourceOf({ zone }: Event, set: Readonly<Record<string, string>>): string {
  const attributes = [
    text('service.name', 'bunny-shield'),
    text('bunny.shield.zone.id', String(zone.id)),
    ...(zone.name === '' ? [] : [text('bunny.shield.zone.name', zone.name.toWellFormed())]),
    ...Object.entries(set).map(([key, value]) => text(key, value)),
  ]
  const scope = JSON.stringify({ name: 'shieldlog' })
  return `{"resource":${JSON.stringify({ attributes })},"scopeLogs":[{"scope":${scope},"logRecords":[`
}

function text(key: string, stringValue: string): object {
  return { key, value: { stringValue } }
}

function readExport(answer: Answer, events: readonly Event[], encoding: 'protobuf' | 'json'): Verdict {
  const { status } = answer
  const json = jsonOf(answer)
  if (isSuccess(status)) {
    // Loki and Grafana Cloud answer 204.
    if (answer.unread === undefined && answer.body.length === 0) return delivered
    const partial = json.at('partialSuccess')
    const isAnswer = partial === null || typeof partial === 'object' || JSON.stringify(json.at()) === '{}'
    if (!isAnswer)
      return noAcknowledgement(`this is not an answer of OTLP: check url; it is ${answer.body.toString()}`)
    const dropped = json.number('partialSuccess', 'rejectedLogRecords')
    return acknowledgedBut(dropped, events, json.text('partialSuccess', 'errorMessage'))
  }
  const said = json.text('message')
  // The Collector answers 400, where others answer 413.
  if (status === 400 && said === 'http: request body too large') return { kind: 'split', reason: 'too_large' }
  const remedy = `set encoding: ${encoding === 'json' ? 'protobuf' : 'json'}`
  // VictoriaLogs has 400 for it.
  if (status === 400 && answer.body.includes("encoding isn't supported")) return { kind: 'stop', remedy }
  // The protocol allows no other try after a 5xx that it does not list. But it is a proxy that answers these, such as 520
  // to 530, while the receiver is down: the events must not be lost to it.
  return readStatus(status, undefined, { 415: remedy })
}
