import type { Format } from '../../../ports/delivery.ts'
import type { HttpSettings } from '../protocol/define-preset.ts'
import type { Preset } from '../protocol/preset.ts'
import { elasticsearch } from './elasticsearch.ts'
import { axiom, betterstack, datadog, newrelic, sumologic } from './log-services.ts'
import { loki } from './loki.ts'
import { otlp } from './otlp.ts'
import { json, ndjson } from './plain.ts'
import { sentinel } from './sentinel.ts'
import { splunkHec } from './splunk-hec.ts'

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
]

export function createPreset(settings: HttpSettings, format: Format): Preset {
  return presets.find(({ name }) => name === settings.preset)!.create(settings, format)
}
