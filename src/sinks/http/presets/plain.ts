import * as z from 'zod'
import { formatNames, httpUrl, secret, secretFile } from '../../../config/fields/fields.ts'
import { checkAddress, noAcknowledgement, readStatus } from '../protocol/answers.ts'
import { createSignature } from '../protocol/credentials.ts'
import { definePreset } from '../protocol/define-preset.ts'
import { arrayLayout, lineLayout, type Preset, type Verdict } from '../protocol/preset.ts'
import { headerNameError, insteadOfCredentials, type SettingMistake } from '../protocol/header-rules.ts'

const Signature = z
  .strictObject({
    header: z
      .string()
      .regex(/^[\w-]{1,64}$/, { message: 'is not a header name', abort: true })
      .default('X-Signature')
      .describe('Header that holds the signature, as algorithm=hex'),
    secret: secret('Key of the signature').optional(),
    secretFile: secretFile('the key of the signature'),
    algorithm: z
      .enum(['sha256', 'sha384', 'sha512'])
      .default('sha256')
      .describe('Hash algorithm of the HMAC'),
  })
  .superRefine(({ secret: key }, context) => {
    if (key === undefined)
      context.addIssue({
        code: 'custom',
        path: ['secret'],
        message: 'is missing',
        params: { remedy: 'give secret or secretFile' },
      })
  })
  .describe('HMAC over the body as sent, for destinations that check it')

const settings = {
  url: httpUrl('Address that bodies are posted to', insteadOfCredentials),
  successCodes: z
    .array(z.int().min(200).max(499))
    .min(1)
    .optional()
    .describe('Statuses that acknowledge a body; default: any 2xx'),
  signature: Signature.optional(),
}
type Settings = z.output<z.ZodObject<typeof settings>>

/** What the presets for endpoints of any kind have in common. A success status means that all events were accepted. */
const common = {
  compressions: ['gzip', 'zstd', 'none'],
  limits: {
    maxEvents: { default: 1000, most: 100_000 },
    maxBytes: { default: 1_000_000, most: Number.MAX_SAFE_INTEGER },
  },
  settings,
  /** The signature must not replace a header of every request. */
  mistakes(given: Pick<Settings, 'signature'> & { readonly headers: object }): SettingMistake[] {
    const others = ['user-agent', ...Object.keys(given.headers).map((name) => name.toLowerCase())]
    const error = given.signature && headerNameError(given.signature.header, new Set(others))
    return error === undefined ? [] : [{ at: ['signature', 'header'], ...error }]
  },
} as const

/** One line per event, each with a line break. */
export const ndjson = definePreset({
  name: 'ndjson',
  title: 'another HTTP endpoint, one JSON object per line',
  description: 'Lines of events for any HTTP endpoint',
  formats: formatNames,
  ...common,
  create: (settings, format) => ({ ...endpoint(settings), mediaType: format.mediaType, layout: lineLayout }),
})

/** One array of all events. */
export const json = definePreset({
  name: 'json',
  title: 'another HTTP endpoint, a JSON array',
  description: 'JSON arrays of events for any HTTP endpoint',
  ...common,
  create: (settings) => ({ ...endpoint(settings), mediaType: 'application/json', layout: arrayLayout }),
})

/** What 409 to an Idempotency-Key means: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header. */
const underWay: Verdict = {
  kind: 'retry',
  code: 'server_error',
  said: 'it still works on a request with this Idempotency-Key; if 409 means that it has the events, add 409 to successCodes',
}

function endpoint({ url, successCodes, signature }: Settings): Omit<Preset, 'mediaType' | 'layout'> {
  return {
    url,
    ...(signature !== undefined && { authorise: createSignature(signature) }),
    piece: (_event, line) => line,
    read({ status }) {
      if (successCodes?.includes(status) === true) return { kind: 'delivered' }
      if (status === 409) return underWay
      const verdict = readStatus(status)
      if (successCodes === undefined || verdict.kind !== 'delivered') return verdict
      return noAcknowledgement('this status is not one of successCodes')
    },
    check: checkAddress,
  }
}
