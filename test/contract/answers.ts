import { Secret } from '../../src/domain/text/secret.ts'
import type { presets } from '../../src/sinks/http/presets/registry.ts'
import type { Reply } from '../sinks/http/destination-server.ts'
import type { Dialect, Script, Shipment } from './scripted-destination.ts'

export type PresetName = (typeof presets)[number]['name']

/** What the sink makes of an answer, as the documentation says it. */
export const outcomes = {
  delivered: 'the events are delivered',
  lost: 'the events are delivered; those that the destination says it dropped are counted and alert',
  refused: 'the refused events become dead letters, all others are delivered',
  halved: 'the body is sent in halves, until each is accepted',
  again: 'nothing is delivered: the same body is sent again, up to three times; then the stream backs off',
  later: 'nothing is delivered: the sink pauses as long as the answer asks, at most an hour',
  'backs off':
    'nothing becomes a dead letter: the stream backs off, and tries a few events at a time until one is accepted',
  stops: 'an error of the sink, for a person: the stream stops, and tries again slowly',
} as const

export type Outcome = keyof typeof outcomes

/** One kind of answer, and what each preset makes of it. The suite of presets tests each row with each preset. */
export interface AnswerRow {
  /** For the documentation. */
  readonly answer: string
  /** For each preset that is not in `but`. */
  readonly outcome: Outcome
  readonly but?: Readonly<Partial<Record<PresetName, Outcome>>>
  /** Only these destinations give such an answer. */
  readonly only?: readonly PresetName[]
  /** How the destination behaves. */
  readonly shipment: (dialect: Dialect) => Shipment
}

const always = (reply: Reply | 'cut off') => () => ({ script: () => ({ reply }) })
const from = (first: number, reply: Reply): Script => {
  return (_ids, index) => (index < first ? undefined : { reply })
}
/** 204 has no body. */
const pageStatusOf = (status: number) => (status === 204 ? 200 : status)
const page = '<!doctype html><title>Log in</title>'

const tellsError = [
  { error: 'unauthorized' },
  { errors: ['Forbidden'] },
  { success: false },
  { status: 'error', message: 'tenant not found' },
]

/** A secret whose file has changed since it was read. */
const rotated = () => new Secret('s3cr3t-of-now', () => 's3cr3t-of-later')
const isOld = (sent = '') => sent.includes('s3cr3t-of-now')

/** What a preset makes of an answer that these take as delivered. */
const deliveredTo = (...names: readonly PresetName[]) =>
  Object.fromEntries(names.map((name) => [name, 'delivered' as const]))
/** Any 2xx acknowledges. */
const anything = ['ndjson', 'json'] as const

export const answerRows: readonly AnswerRow[] = [
  {
    answer: '200 with an empty body',
    outcome: 'again',
    but: deliveredTo(...anything, 'loki', 'otlp', 'datadog', 'sumologic'),
    shipment: always({ status: 200 }),
  },
  {
    answer: '200 with `{}`',
    outcome: 'again',
    but: deliveredTo(...anything, 'otlp', 'datadog', 'sumologic'),
    shipment: always({ status: 200, body: {} }),
  },
  {
    answer: '200 with the JSON of another service, such as `{"ok":true}`',
    outcome: 'again',
    but: deliveredTo(...anything, 'datadog', 'sumologic'),
    shipment: always({ status: 200, body: { ok: true } }),
  },
  {
    answer: '200 with a body that is no JSON',
    outcome: 'again',
    but: deliveredTo(...anything, 'datadog', 'sumologic'),
    shipment: always({ status: 200, body: 'ok' }),
  },
  {
    answer: '202',
    outcome: 'again',
    but: deliveredTo(...anything, 'otlp', 'datadog', 'newrelic', 'betterstack'),
    shipment: always({ status: 202 }),
  },
  {
    answer: '204',
    outcome: 'again',
    but: deliveredTo(...anything, 'loki', 'otlp', 'sentinel'),
    shipment: always({ status: 204 }),
  },
  {
    answer: 'any 2xx with JSON that tells an error: `error`, `errors`, `"success":false`, `"status":"error"`',
    outcome: 'again',
    but: deliveredTo(...anything),
    shipment: (dialect) => ({
      script: (ids, index) => ({
        reply: {
          status: pageStatusOf(dialect.taken(ids).status),
          body: tellsError[index % tellsError.length]!,
        },
      }),
    }),
  },
  {
    answer: 'any 2xx with a page of HTML (`Content-Type: text/html` and a body)',
    outcome: 'again',
    shipment: (dialect) => ({
      script: (ids) => ({
        reply: {
          status: pageStatusOf(dialect.taken(ids).status),
          body: page,
          headers: { 'content-type': 'text/html' },
        },
      }),
    }),
  },
  {
    answer: 'the answer breaks off, whatever its status',
    outcome: 'again',
    shipment: always('cut off'),
  },
  {
    answer: 'a success that names the events which were refused',
    outcome: 'refused',
    only: ['elasticsearch'],
    shipment: (dialect) => ({ script: (ids) => dialect.refused(ids, ['event-3']) }),
  },
  {
    answer: 'a success that says how many events were dropped, but not which',
    outcome: 'lost',
    only: ['otlp', 'axiom'],
    shipment: (dialect) => ({ script: (ids) => dialect.fewer!(ids) }),
  },
  {
    answer: 'a success that counts other events than were sent',
    outcome: 'again',
    only: ['axiom'],
    shipment: () => ({
      script: (ids, index) => ({
        reply: { status: 200, body: { ingested: [0, ids.length - 1, ids.length + 1][index % 3], failed: 0 } },
      }),
    }),
  },
  {
    answer: 'a success whose body has more than 4 MiB, to more than a few events',
    outcome: 'halved',
    only: ['elasticsearch', 'splunk-hec', 'otlp', 'axiom'],
    shipment: () => ({
      script: (ids) =>
        ids.length > 3 ? { reply: { status: 200, body: { long: 'x'.repeat(4_200_000) } } } : undefined,
    }),
  },
  {
    answer:
      'an error of the cluster for each event, after it took others: too many shards, no write index, a write block',
    outcome: 'stops',
    only: ['elasticsearch'],
    shipment: (dialect) => ({
      script: (ids, index) => (index === 0 ? undefined : { reply: dialect.brokenEach!(ids) }),
    }),
  },
  {
    answer: '400 because of the age of one event of the body, which `batch.maxAgeHours` allows',
    outcome: 'refused',
    only: ['loki'],
    shipment: () => ({
      script: (ids) =>
        ids.includes('event-3')
          ? {
              reply: { status: 400, body: "entry for stream '{…}' has timestamp too old: 2025-11-14" },
              stored: ids.filter((id) => id !== 'event-3'),
            }
          : undefined,
    }),
  },
  {
    answer: '400 because of one event of the body',
    outcome: 'refused',
    shipment: (dialect) => ({
      script: (ids) => (ids.includes('event-3') ? dialect.refused(ids, ['event-3']) : undefined),
    }),
  },
  {
    answer: '400 to everything, although events were accepted before',
    outcome: 'backs off',
    shipment: () => ({ script: from(1, { status: 400, body: 'misconfigured' }) }),
  },
  { answer: '401', outcome: 'stops', shipment: always({ status: 401 }) },
  { answer: '403', outcome: 'stops', shipment: always({ status: 403 }) },
  {
    answer: '409',
    outcome: 'stops',
    but: { ndjson: 'again', json: 'again' },
    shipment: always({ status: 409 }),
  },
  {
    answer: '413 to a body that is too large',
    outcome: 'halved',
    shipment: () => ({ script: (ids) => (ids.length > 3 ? { reply: { status: 413 } } : undefined) }),
  },
  { answer: '429', outcome: 'again', shipment: always({ status: 429 }) },
  {
    answer: '429 to one event, which is larger than what a tenant may send in a second, after pauses too',
    outcome: 'refused',
    only: ['loki'],
    shipment: () => ({
      script: (ids) => {
        const body = `(limit: 1000 bytes/sec) while attempting to ingest '1' lines totaling '${ids.length}500' bytes`
        return ids.includes('event-3') ? { reply: { status: 429, body } } : undefined
      },
    }),
  },
  {
    answer: '429 with `Retry-After` in seconds',
    outcome: 'later',
    shipment: always({ status: 429, headers: { 'retry-after': '60' } }),
  },
  {
    answer: '429 with `Retry-After` as a date',
    outcome: 'later',
    shipment: () => {
      const at = new Date(Date.now() + 60_000).toUTCString()
      return { script: () => ({ reply: { status: 429, headers: { 'retry-after': at } } }) }
    },
  },
  { answer: '500 to everything', outcome: 'again', shipment: always({ status: 500 }) },
  { answer: '503', outcome: 'again', shipment: always({ status: 503 }) },
  {
    answer: 'another 5xx, as of a proxy: 501, 505, 507, 520 to 530',
    outcome: 'again',
    shipment: () => ({
      script: (_ids, index) => ({ reply: { status: [522, 501, 507, 520, 529, 530, 505][index % 7]! } }),
    }),
  },
  {
    answer: 'a redirect',
    outcome: 'stops',
    shipment: always({ status: 302, headers: { location: 'https://login.example/' } }),
  },
  {
    answer: 'a refusal of a secret whose file has changed since it was read: it is read again',
    outcome: 'delivered',
    shipment: (dialect) => ({
      secret: rotated(),
      script: (_ids, _index, got) =>
        isOld(dialect.secretOf(got)) ? { reply: dialect.unauthorised } : undefined,
    }),
  },
  {
    answer: 'the same, for each event of an answer 200',
    outcome: 'delivered',
    only: ['elasticsearch'],
    shipment: (dialect) => ({
      secret: rotated(),
      script: (ids, _index, got) =>
        isOld(dialect.secretOf(got)) ? { reply: dialect.unauthorisedEach!(ids) } : undefined,
    }),
  },
  {
    answer: 'the same, from the address that issues tokens',
    outcome: 'delivered',
    only: ['sentinel'],
    shipment: (dialect) => ({
      secret: rotated(),
      script: () => undefined,
      other: (got) =>
        isOld(got.text) ? { status: 401, body: { error: 'invalid_client' } } : dialect.other!(got),
    }),
  },
  {
    answer: '429 with `Retry-After`, from the address that issues tokens',
    outcome: 'later',
    only: ['sentinel'],
    shipment: () => ({
      script: () => undefined,
      other: () => ({ status: 429, headers: { 'retry-after': '120' } }),
    }),
  },
]

export function outcomeFor({ outcome, but, only }: AnswerRow, preset: PresetName): Outcome | undefined {
  if (only !== undefined && !only.includes(preset)) return undefined
  return but?.[preset] ?? outcome
}
