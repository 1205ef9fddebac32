import { presetContract } from '../../../contract/preset.contract.ts'
import { acknowledgingSplunk, dialects } from './dialects.ts'

for (const [preset, dialect] of Object.entries(dialects)) presetContract(preset, dialect)
presetContract('splunk-hec', acknowledgingSplunk(), 'splunk-hec with acknowledge')
