import { json } from './json.ts'
import { ndjson } from './ndjson.ts'
import type { Preset } from './preset.ts'

/** Every preset by its name in the configuration. */
export const presets = { ndjson, json } satisfies Record<string, Preset>

export type PresetName = keyof typeof presets
