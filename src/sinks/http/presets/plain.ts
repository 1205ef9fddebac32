import { createHmac } from 'node:crypto'
import * as z from 'zod'
import { addIssue, choice, formatNames, httpUrl, secret, secretFile } from '../../../fields/fields.ts'
import {
  arrayLayout,
  checkAddress,
  delivered,
  type Layout,
  lineLayout,
  noAcknowledgement,
  type Preset,
  readStatus,
  type Verdict,
} from '../protocol/preset.ts'
import { definePreset, headerNameError, limits } from '../protocol/define-preset.ts'

const Signature = z
  .strictObject({
    header: z
      .string()
      .regex(/^[\w-]{1,64}$/, { message: 'is not a header name', abort: true })
      .default('X-Signature')
      .describe('Header that holds the signature, as algorithm=hex'),
    secret: secret('Key of the signature').optional(),
    secretFile: secretFile('the key of the signature'),
    algorithm: choice(['sha256', 'sha384', 'sha512'], 'Hash algorithm of the HMAC'),
  })
  .superRefine(({ secret: key }, context) => {
    const missing = { problem: 'is missing', remedy: 'give secret or secretFile' }
    if (key === undefined) addIssue(context, missing, ['secret'])
  })
  .describe('HMAC over the body as sent, for destinations that check it')

/** Signs each body as sent, the way webhooks do: `X-Signature: sha256=<hex>`. */
function signing({
  header,
  secret: key,
  algorithm,
}: z.output<typeof Signature>): NonNullable<Preset['authorise']> {
  return async ({ body }) => {
    const hmac = createHmac(algorithm, key?.reveal() ?? '').update(body)
    return { [header.toLowerCase()]: `${algorithm}=${hmac.digest('hex')}` }
  }
}

/** What 409 to an Idempotency-Key means: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header. */
const underWay: Verdict = {
  kind: 'retry',
  code: 'server_error',
  said: 'it still works on a request with this Idempotency-Key; if 409 means that it has the events, add 409 to successCodes',
}

/** A preset for endpoints of any kind: a success status means that all events were accepted. */
function endpoint(
  layout: Layout,
  about: Pick<Parameters<typeof definePreset>[0], 'name' | 'title' | 'description' | 'formats'>,
) {
  return definePreset({
    ...about,
    compressions: ['gzip', 'zstd', 'none'],
    batch: {
      maxEvents: limits.maxEvents(1000, 100_000),
      maxBytes: limits.maxBytes(1_000_000, Number.MAX_SAFE_INTEGER),
    },
    settings: {
      url: httpUrl(
        'Address that bodies are posted to',
        'move it to a header, for example headers: { Authorization: "Basic ${SIEM_BASIC}" }',
      ),
      successCodes: z
        .array(z.int().min(200).max(499))
        .min(1)
        .optional()
        .describe('Statuses that acknowledge a body; default: any 2xx'),
      signature: Signature.optional(),
    },
    /** The signature must not replace a header of every request. */
    mistakes({ headers, signature }) {
      const error = signature && headerNameError(signature.header, ['user-agent', ...Object.keys(headers)])
      return error === undefined ? [] : [{ at: ['signature', 'header'], ...error }]
    },
    create: ({ url, successCodes, signature }, format) => ({
      url,
      mediaType: layout === lineLayout ? format.mediaType : 'application/json',
      ...(signature !== undefined && { authorise: signing(signature) }),
      layout,
      read({ status }) {
        if (successCodes?.includes(status) === true) return delivered
        if (status === 409) return underWay
        const verdict = readStatus(status)
        if (successCodes === undefined || verdict.kind !== 'delivered') return verdict
        return noAcknowledgement('this status is not one of successCodes')
      },
      check: checkAddress,
    }),
  })
}

/** One line per event, each with a line break. */
export const ndjson = endpoint(lineLayout, {
  name: 'ndjson',
  title: 'another HTTP endpoint, one JSON object per line',
  description: 'Lines of events for any HTTP endpoint',
  formats: formatNames,
})

/** One array of all events. */
export const json = endpoint(arrayLayout, {
  name: 'json',
  title: 'another HTTP endpoint, a JSON array',
  description: 'JSON arrays of events for any HTTP endpoint',
})
