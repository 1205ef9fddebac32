import * as z from 'zod'
import { httpUrl } from '../../../config/fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import type { Answer } from '../../../transport/exchange.ts'
import {
  acknowledgedBut,
  below,
  jsonOf,
  lineLayout,
  noAcknowledgement,
  readStatus,
  type Verdict,
  withTime,
} from '../protocol/preset.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'

/**
 * A dataset of Axiom: https://axiom.co/docs/restapi/endpoints/ingestToDataset. The answer contains the number of events
 * that failed, but not which ones.
 */
export const axiom = definePreset({
  name: 'axiom',
  title: 'Axiom',
  description: 'Events for a dataset of Axiom',
  compressions: ['gzip', 'zstd', 'none'],
  batch: { maxBytes: limits.maxBytes(1_000_000, 10_000_000) },
  credential: { field: 'token', description: 'API token that may ingest into the dataset', scheme: 'Bearer' },
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
  const { status, headers } = answer
  // Two headers contain the time at which a limit ends, in seconds since the epoch.
  const resets = [headers['x-ratelimit-reset'], headers['x-ingestlimit-reset']].map(Number)
  const retryAtMs = Math.max(0, ...resets.filter(Number.isFinite)) * 1000
  if (status === 429) return { kind: 'retry', code: 'throttled', ...(retryAtMs > 0 && { retryAtMs }) }
  if (status !== 200) return readStatus(status, [200])
  const json = jsonOf(answer)
  if (typeof json.at('ingested') !== 'number')
    return noAcknowledgement('the answer has no number of ingested events: check url')
  return acknowledgedBut(json.number('failed'), events, json.text('failures', '0', 'error'))
}
