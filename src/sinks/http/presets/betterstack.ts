import { headerSecret, httpUrl, secretFile } from '../../../config/fields/fields.ts'
import { checkByEmptyBatch, readStatus } from '../protocol/answers.ts'
import { bearer, missing } from '../protocol/credentials.ts'
import { definePreset } from '../protocol/define-preset.ts'
import { arrayLayout } from '../protocol/preset.ts'

/** A source of Better Stack: https://betterstack.com/docs/logs/ingesting-data/http/logs. */
export const betterstack = definePreset({
  name: 'betterstack',
  title: 'Better Stack',
  description: 'Logs for a source of Better Stack',
  limits: { maxBytes: { default: 1_000_000, most: 10_000_000 } },
  settings: {
    url: httpUrl('Ingesting host of the source', 'give token'),
    token: headerSecret('Token of the source').optional(),
    tokenFile: secretFile('the token'),
  },
  mistakes: ({ token }) => missing('token', token),
  create: ({ url, token }) => ({
    url,
    mediaType: 'application/json',
    authorise: bearer(token),
    piece: ({ time }, line) => (time === undefined ? line : `{"dt":${JSON.stringify(time)},${line.slice(1)}`),
    layout: arrayLayout,
    read: ({ status }) => readStatus(status, [202]),
    check: (ask) =>
      checkByEmptyBatch(ask, {
        body: '[]',
        isWell: ({ status }) => status === 202,
        found: 'accepted the token and an empty batch',
      }),
  }),
})
