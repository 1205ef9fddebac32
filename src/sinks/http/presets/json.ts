import { jsonFormatNames } from '../../../config/fields/fields.ts'
import { definePreset } from '../protocol/define-preset.ts'
import { plainEndpoint, plainLimits, plainSettings, signatureMistakes } from '../protocol/plain.ts'

/** One array of all events. A success status means that all were accepted. */
export const json = definePreset({
  name: 'json',
  title: 'another HTTP endpoint, a JSON array',
  description: 'JSON arrays of events for any HTTP endpoint',
  formats: jsonFormatNames,
  compressions: ['gzip', 'zstd', 'none'],
  limits: plainLimits,
  settings: plainSettings,
  mistakes: signatureMistakes,
  create: (settings) => ({
    ...plainEndpoint(settings),
    mediaType: 'application/json',
    piece: (_event, line) => line,
    layout: { before: '[', between: ',', after: ']' },
  }),
})
