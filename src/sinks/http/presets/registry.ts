import { json } from './json.ts'
import { ndjson } from './ndjson.ts'
import type { Preset } from './preset.ts'

/** Every preset by the name that the configuration uses. */
export const presets = { ndjson, json } satisfies Record<string, Preset>

export type PresetName = keyof typeof presets
