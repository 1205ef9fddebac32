import type * as z from 'zod'
import type { Format } from '../../../ports/delivery.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import { checkByEmptyBatch } from '../protocol/answers.ts'
import { authoriseBy } from '../protocol/credentials.ts'
import type { PresetParts } from '../protocol/define-preset.ts'
import type { Preset } from '../protocol/preset.ts'
import { axiom } from './axiom.ts'
import { betterstack } from './betterstack.ts'
import { datadog } from './datadog.ts'
import { elasticsearch } from './elasticsearch.ts'
import { loki } from './loki.ts'
import { newrelic } from './newrelic.ts'
import { otlp } from './otlp.ts'
import { json, ndjson } from './plain.ts'
import { sentinel } from './sentinel.ts'
import { splunkHec } from './splunk-hec.ts'
import { sumologic } from './sumologic.ts'

/** Every preset. Configuration, reference and `init` derive from this list. */
export const presets = [
  elasticsearch,
  splunkHec,
  loki,
  otlp,
  datadog,
  sentinel,
  sumologic,
  newrelic,
  axiom,
  betterstack,
  ndjson,
  json,
] as const

/** The settings of a sink with any of the presets. */
type PresetSettings = z.output<(typeof presets)[number]['schema']>

export function createPreset(settings: PresetSettings, format: Format): Preset {
  const found = presets.find(({ name }) => name === settings.preset)
  if (found === undefined) throw new Error(`preset ${JSON.stringify(settings.preset)} is unknown`)
  const { credential } = found
  const given: Readonly<Record<string, unknown>> = settings
  const secret = credential && (given[credential.field] as Secret | undefined)
  // The settings were parsed by the schema of this very preset.
  const create = found.create as (...given: [PresetSettings, Format, Secret | undefined]) => PresetParts
  const parts = create(settings, format, secret)
  const { check, read } = parts
  return {
    ...(credential !== undefined && { authorise: authoriseBy(credential, given) }),
    ...parts,
    check: typeof check === 'function' ? check : (ask) => checkByEmptyBatch(ask, check, read),
  }
}
