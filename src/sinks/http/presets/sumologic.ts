import * as z from 'zod'
import { addIssue, httpUrl } from '../../../config/fields/fields.ts'
import { headerValueError } from '../../../domain/text/http-rules.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'
import { lineLayout } from '../protocol/preset.ts'

const text = (description: string) =>
  z
    .string()
    .superRefine((value, context) => addIssue(context, headerValueError(value)))
    .optional()
    .describe(description)

/**
 * An HTTP source of a hosted collector of Sumo Logic:
 * https://help.sumologic.com/docs/send-data/hosted-collectors/http-source. Its address is the secret.
 */
export const sumologic = definePreset({
  name: 'sumologic',
  title: 'Sumo Logic',
  description: 'Lines for an HTTP source of Sumo Logic',
  compressions: ['gzip', 'zstd', 'none'],
  batch: { maxBytes: limits.maxBytes(1_000_000) },
  settings: {
    url: httpUrl('Address of the HTTP source', 'remove them; the address itself is the secret'),
    category: text('Source category; default: the category of the source'),
    source: text('Source name; default: the name of the source'),
    host: text('Source host; default: the host of the source'),
  },
  create: ({ url, category, source, host }) => ({
    url,
    headers: {
      ...(category !== undefined && { 'x-sumo-category': category }),
      ...(source !== undefined && { 'x-sumo-name': source }),
      ...(host !== undefined && { 'x-sumo-host': host }),
    },
    layout: lineLayout,
    acknowledges: [200],
    check: { body: '', found: 'accepted an empty body' },
  }),
})
