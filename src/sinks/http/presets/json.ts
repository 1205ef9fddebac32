import { joinTexts } from '../../join.ts'
import type { Preset } from './preset.ts'
import { readStatus } from './status.ts'

/** One array of all events. Any 2xx means that all of them were taken. */
export const json: Preset = {
  name: 'json',
  mediaType: () => 'application/json',
  headers: {},
  needsJson: true,
  piece: (_event, line) => line,
  body: (pieces) => joinTexts(pieces, { before: '[', between: ',', after: ']' }),
  framing: { once: 2, between: 1 },
  read: ({ status }) => readStatus(status),
  probe: { method: 'HEAD' },
}
