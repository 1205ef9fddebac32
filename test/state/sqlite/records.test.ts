import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Records } from '../../../src/ports/records.ts'
import { openSqliteRecords } from '../../../src/state/sqlite/records.ts'
import { recordsContract } from '../../contract/records.contract.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { temporaryFolder } from '../../setup/temp.ts'

recordsContract('sqlite', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'store.db')
  const clock = createFakeClock()
  const opened: Records[] = []
  const reopen = async (): Promise<Records> => {
    const records = await openSqliteRecords({ path, clock })
    opened.push(records)
    return records
  }
  return {
    records: await reopen(),
    reopen,
    clock,
    async backUp() {
      using database = new DatabaseSync(path)
      database.exec(`VACUUM INTO '${join(folder, 'backup.db')}'`)
      return async () => {
        using restored = new DatabaseSync(path)
        restored.exec(`ATTACH '${join(folder, 'backup.db')}' AS backup; BEGIN IMMEDIATE`)
        for (const table of ['collection', 'record'])
          restored.exec(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM backup.${table}`)
        restored.exec('COMMIT')
      }
    },
    async close() {
      for (const records of opened) await records.close()
    },
  }
})
