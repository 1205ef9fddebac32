import { httpUrl } from '../../../config/fields/fields.ts'
import { readStatus } from '../protocol/answers.ts'
import { definePreset } from '../protocol/define-preset.ts'
import { arrayLayout, withTime } from '../protocol/preset.ts'

/** A source of Better Stack: https://betterstack.com/docs/logs/ingesting-data/http/logs. */
export const betterstack = definePreset({
  name: 'betterstack',
  title: 'Better Stack',
  description: 'Logs for a source of Better Stack',
  limits: { maxBytes: { default: 1_000_000, most: 10_000_000 } },
  credential: { field: 'token', description: 'Token of the source', scheme: 'Bearer' },
  settings: { url: httpUrl('Ingesting host of the source', 'give token') },
  create: ({ url }) => ({
    url,
    mediaType: 'application/json',
    piece: withTime('dt'),
    layout: arrayLayout,
    read: ({ status }) => readStatus(status, [202]),
    check: { body: '[]', found: 'accepted the token and an empty batch' },
  }),
})
