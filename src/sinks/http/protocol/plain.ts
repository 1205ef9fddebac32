import * as z from 'zod'
import { httpUrl, secret, secretFile } from '../../../config/fields/fields.ts'
import { insteadOfCredentials, signatureHeaderError } from '../target.ts'
import { checkAddress, noAcknowledgement, readStatus } from './answers.ts'
import { createSignature } from './credentials.ts'
import type { Limits, SettingMistake } from './define-preset.ts'
import type { Preset, Verdict } from './preset.ts'

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

/** Settings of the presets for endpoints of any kind. */
export const plainSettings = {
  url: httpUrl('Address that bodies are posted to', insteadOfCredentials),
  successCodes: z
    .array(z.int().min(200).max(499))
    .min(1)
    .optional()
    .describe('Statuses that acknowledge a body; default: any 2xx'),
  signature: Signature.optional(),
}

export const plainLimits: Limits = {
  maxEvents: { default: 1000, most: 100_000 },
  maxBytes: { default: 1_000_000, most: Number.MAX_SAFE_INTEGER },
}

/** What 409 to an Idempotency-Key means: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header. */
const underWay: Verdict = {
  kind: 'retry',
  code: 'server_error',
  said: 'it still works on a request with this Idempotency-Key; if 409 means that it has the events, add 409 to successCodes',
}

type PlainSettings = z.output<z.ZodObject<typeof plainSettings>>

/** The signature must not replace a header that frames the request, nor one that is configured. */
export function signatureMistakes({
  signature,
  headers,
}: Pick<PlainSettings, 'signature'> & {
  readonly headers: Readonly<Record<string, unknown>>
}): SettingMistake[] {
  if (signature === undefined) return []
  const error = signatureHeaderError(signature.header, Object.keys(headers))
  return error === undefined ? [] : [{ at: ['signature', 'header'], ...error }]
}

/** Address, signature, verdict and check of such an endpoint. */
export function plainEndpoint({
  url,
  successCodes,
  signature,
}: PlainSettings): Pick<Preset, 'url' | 'authorise' | 'read' | 'check'> {
  return {
    url,
    ...(signature !== undefined && { authorise: createSignature(signature) }),
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
