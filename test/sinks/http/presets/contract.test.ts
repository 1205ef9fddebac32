import { presetContract } from '../../../contract/preset.contract.ts'
import { dialects } from './dialects.ts'

for (const [preset, dialect] of Object.entries(dialects)) presetContract(preset, dialect)
