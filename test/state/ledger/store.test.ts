import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { inMemory } from './opened.ts'

checkpointStoreContract('memory', inMemory, 200)
