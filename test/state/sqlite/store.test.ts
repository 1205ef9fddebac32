import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { inSqlite } from '../ledger/opened.ts'

checkpointStoreContract('sqlite', inSqlite, 25)
