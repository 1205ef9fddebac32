import { formatNames } from '../../../config/fields/fields.ts'
import { definePreset } from '../protocol/define-preset.ts'
import { plainEndpoint, plainLimits, plainSettings, signatureMistakes } from '../protocol/plain.ts'

/** One line per event, each with a line break. A success status means that all were accepted. */
export const ndjson = definePreset({
  name: 'ndjson',
  title: 'another HTTP endpoint, one JSON object per line',
  description: 'Lines of events for any HTTP endpoint',
  formats: formatNames,
  compressions: ['gzip', 'zstd', 'none'],
  limits: plainLimits,
  settings: plainSettings,
  mistakes: signatureMistakes,
  create: (settings, format) => ({
    ...plainEndpoint(settings),
    mediaType: format.mediaType,
    piece: (_event, line) => line,
    layout: { before: '', between: '\n', after: '\n' },
  }),
})
