import { joinTexts } from '../../join.ts'
import type { Preset } from './preset.ts'
import { readStatus } from './status.ts'

/** One line per event, each with a line break. Any 2xx means that all of them were taken. */
export const ndjson: Preset = {
  name: 'ndjson',
  mediaType: (format) => format.mediaType,
  headers: {},
  needsJson: false,
  piece: (_event, line) => line,
  body: (pieces) => joinTexts(pieces, { before: '', between: '\n', after: '\n' }),
  framing: { once: 1, between: 1 },
  read: ({ status }) => readStatus(status),
  probe: { method: 'HEAD' },
}
