import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { openDatabase } from './database/database.ts'
import { checkSchema } from './database/schema.ts'
import { prepareStateFile, unwritable } from './database/state-file.ts'

/** Throws `store_refuses` when a run could not keep its state at this path. Creates nothing. */
export async function probeSqliteStore(path: string): Promise<void> {
  const file = resolve(path)
  if (existsSync(file)) {
    await checkStore(file)
    return
  }
  let folder = dirname(file)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    if (!statSync(folder).isDirectory())
      throw Object.assign(new Error('ENOTDIR'), { code: 'ENOTDIR', path: folder })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw unwritable(file, error)
  }
}

async function checkStore(file: string): Promise<void> {
  prepareStateFile(file, false)
  const database = await openDatabase(file)
  try {
    await checkSchema(database)
  } finally {
    database.close()
  }
}
