import { presetContract } from '../../../contract/preset.contract.ts'
import { acknowledgingSplunk, dialects, otlpInJson } from './dialects.ts'

for (const [preset, dialect] of Object.entries(dialects)) presetContract(preset, dialect)
presetContract('otlp', otlpInJson, 'otlp in JSON')
presetContract('splunk-hec', acknowledgingSplunk(), 'splunk-hec with acknowledge')
