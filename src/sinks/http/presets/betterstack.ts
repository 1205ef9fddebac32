import { httpUrl } from '../../../config/fields/fields.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'
import { withTime } from '../protocol/preset.ts'

/** A source of Better Stack: https://betterstack.com/docs/logs/ingesting-data/http/logs. */
export const betterstack = definePreset({
  name: 'betterstack',
  title: 'Better Stack',
  description: 'Logs for a source of Better Stack',
  batch: { maxBytes: limits.maxBytes(1_000_000, 10_000_000) },
  credential: { field: 'token', description: 'Token of the source', scheme: 'Bearer' },
  settings: { url: httpUrl('Ingesting host of the source', 'give token') },
  create: ({ url }) => ({
    url,
    piece: withTime('dt'),
    acknowledges: [202],
    check: { body: '[]', found: 'accepted the token and an empty batch' },
  }),
})
