import * as z from 'zod'
import { bytes, count, duration, format, headerSecret, httpUrl, name } from '../../config/fields.ts'
import { TlsConfig } from '../../config/tls.ts'

/** Every dialect that the http sink speaks. */
export const presetNames = ['ndjson', 'json'] as const
export type PresetName = (typeof presetNames)[number]

/** Written by the sink itself for each body; a second value from the configuration would break the request. */
const ownHeaders = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const Headers = z
  .record(z.string(), headerSecret('Header value'))
  .superRefine((headers, context) => {
    const seen = new Set<string>()
    for (const header of Object.keys(headers)) {
      const fault = headerFault(header, seen)
      if (fault !== undefined)
        context.addIssue({ code: 'custom', path: [header], message: fault.problem, params: fault })
      seen.add(header.toLowerCase())
    }
  })
  .default({})
  .describe('Headers of every request; their values are secrets')

function headerFault(
  header: string,
  seen: ReadonlySet<string>,
): { problem: string; remedy: string } | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header))
    return { problem: 'is no header name', remedy: 'use letters, digits and "-"' }
  if (ownHeaders.has(header.toLowerCase()))
    return { problem: 'is a header that the sink writes itself', remedy: 'remove it' }
  if (seen.has(header.toLowerCase()))
    return { problem: 'is given twice, in different spellings', remedy: 'keep one of them' }
  return undefined
}

const Batch = z
  .strictObject({
    maxEvents: count('Most events in one body', { max: 100_000 }).default(1000),
    maxBytes: bytes('Most of one body before compression', { min: 1024 }).default(1_000_000),
  })
  .prefault({})
  .describe('How large one request may be')

export const HttpSinkConfig = z
  .strictObject({
    type: z.literal('http').describe('Kind of sink'),
    name: name('Name of the sink, part of the identity of its streams').default('http'),
    preset: z.enum(presetNames).default('ndjson').describe('Dialect of the far side'),
    format: format(),
    url: httpUrl(
      'Where bodies are posted',
      'move it to a header, for example headers: { Authorization: "Basic ${SIEM_BASIC}" }',
    ),
    headers: Headers,
    compression: z.enum(['none', 'gzip', 'zstd']).default('gzip').describe('How bodies are compressed'),
    timeoutSeconds: duration('Longest wait for an answer', { above: 0, max: 3600 }).default(30),
    batch: Batch,
    tls: TlsConfig.prefault({}).describe('Certificates for this sink'),
  })
  .describe('Bodies of events posted to an HTTP endpoint')
export type HttpSinkConfig = Readonly<z.output<typeof HttpSinkConfig>>
