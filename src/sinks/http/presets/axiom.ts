import * as z from 'zod'
import { httpUrl } from '../../../config/fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import { isObject } from '../../../domain/text/json.ts'
import type { JsonObject } from '../../../domain/text/json.ts'
import {
  acknowledgedBut,
  answerObject,
  noAcknowledgement,
  numberAt,
  readStatus,
  textAt,
} from '../protocol/answers.ts'
import { definePreset } from '../protocol/define-preset.ts'
import { type Answer, below, lineLayout, type Verdict, withTime } from '../protocol/preset.ts'

/**
 * A dataset of Axiom: https://axiom.co/docs/restapi/endpoints/ingestToDataset. The answer contains the number of events
 * that failed, but not which ones.
 */
export const axiom = definePreset({
  name: 'axiom',
  title: 'Axiom',
  description: 'Events for a dataset of Axiom',
  compressions: ['gzip', 'zstd', 'none'],
  limits: { maxBytes: { default: 1_000_000, most: 10_000_000 } },
  credential: {
    field: 'token',
    description: 'API token that may ingest into the dataset',
    scheme: 'Bearer',
  },
  settings: {
    url: httpUrl('Base address of the edge deployment', 'give token').default(
      'https://us-east-1.aws.edge.axiom.co',
    ),
    dataset: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,128}$/, { message: 'is not the name of a dataset' })
      .describe('Name of the dataset'),
  },
  create: ({ url, dataset }) => ({
    url: below(url, `/v1/ingest/${dataset}`),
    piece: withTime('_time'),
    layout: lineLayout,
    read: readIngest,
    check: { body: '\n', found: 'accepted the token', refusesEmpty: ({ status }) => status === 400 },
  }),
})

function readIngest(answer: Answer, events: readonly Event[]): Verdict {
  const { status } = answer
  if (status === 429) return readLimit(answer)
  if (status !== 200) return readStatus(status, [200])
  const object = answerObject(answer)
  if (typeof object?.['ingested'] !== 'number')
    return noAcknowledgement('the answer has no number of ingested events: check url')
  return acknowledgedBut(numberAt(object, 'failed'), events, failureIn(object))
}

function failureIn({ failures }: JsonObject): string {
  const first: unknown = Array.isArray(failures) ? failures[0] : undefined
  return isObject(first) ? textAt(first, 'error') : ''
}

/** The headers contain the time at which the limit ends, in seconds since the epoch. */
function readLimit({ headers }: Answer): Verdict {
  const resets = ['x-ratelimit-reset', 'x-ingestlimit-reset'].map((name) => Number(headers[name] ?? 0) * 1000)
  const retryAtMs = Math.max(...resets.filter((ms) => Number.isFinite(ms)), 0)
  return { kind: 'retry', code: 'throttled', ...(retryAtMs > 0 && { retryAtMs }) }
}
