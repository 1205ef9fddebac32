import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { openMemory } from './memory.ts'

checkpointStoreContract('memory', openMemory, 200)
