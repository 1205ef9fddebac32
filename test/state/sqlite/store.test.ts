import { join } from 'node:path'
import { checkpointStoreContract } from '../../contract/checkpoint-store.contract.ts'
import { storesAt } from '../../contract/checkpoint-store/opened-store.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const open = storesAt(
  () => join(temporaryFolder(), 'store.db'),
  (path, options) => openSqliteStore({ path, ...options }),
)
checkpointStoreContract('sqlite', open, 25)
