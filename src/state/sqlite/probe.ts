import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { inspectSqliteStore } from './inspection.ts'
import { unwritable } from './state-file.ts'

/** Throws `store_refuses` where a run could not keep its state at this path. Makes nothing and migrates nothing. */
export async function probeSqliteStore(path: string): Promise<void> {
  const file = resolve(path)
  if (existsSync(file)) {
    await inspectSqliteStore(file)
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
