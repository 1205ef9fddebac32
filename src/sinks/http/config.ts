import * as z from 'zod'
import {
  addIssue,
  bytes,
  count,
  duration,
  format,
  headerSecret,
  httpUrl,
  name,
} from '../../config/schema/fields.ts'
import { TlsConfig } from '../../config/schema/tls.ts'
import { headerNameError, insteadOfCredentials } from './rules.ts'

/** The presets of the http sink. */
export const presetNames = ['ndjson', 'json'] as const
export type PresetName = (typeof presetNames)[number]

const Headers = z
  .record(z.string(), headerSecret('Header value'))
  .superRefine((headers, context) => {
    const seen = new Set<string>()
    for (const header of Object.keys(headers)) {
      addIssue(context, headerNameError(header, seen), [header])
      seen.add(header.toLowerCase())
    }
  })
  .default({})
  .describe('Headers of every request; their values are secrets')

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
    preset: z.enum(presetNames).default('ndjson').describe('Dialect of the destination'),
    format: format(),
    url: httpUrl('Where bodies are posted', insteadOfCredentials),
    headers: Headers,
    compression: z.enum(['none', 'gzip', 'zstd']).default('gzip').describe('How bodies are compressed'),
    timeoutSeconds: duration('Longest wait for an answer', { above: 0, max: 3600 }).default(30),
    batch: Batch,
    tls: TlsConfig.prefault({}).describe('Certificates for this sink'),
  })
  .describe('Bodies of events posted to an HTTP endpoint')
export type HttpSinkConfig = Readonly<z.output<typeof HttpSinkConfig>>
