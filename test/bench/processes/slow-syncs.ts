import { open, type FileHandle } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

/** From here on each sync of a file, and each commit of SQLite that waits for the disk, takes so long. */
export async function slowSyncs(ms: number): Promise<void> {
  const handle = await open('/dev/null')
  const files = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const { datasync } = files
  files.datasync = async function (this: FileHandle) {
    await sleep(ms)
    return datasync.call(this)
  }
  const { prototype } = DatabaseSync
  const { exec } = prototype
  const waiting = new Int32Array(new SharedArrayBuffer(4))
  let [isSynced, writes] = [true, false]
  prototype.exec = function (this: DatabaseSync, sql: string) {
    if (sql.includes('synchronous =')) isSynced = sql.includes('synchronous = FULL')
    if (sql.startsWith('BEGIN')) writes = sql === 'BEGIN IMMEDIATE'
    // SQLite holds the thread while it waits for the disk.
    if (sql === 'COMMIT' && isSynced && writes) Atomics.wait(waiting, 0, 0, ms)
    return exec.call(this, sql)
  }
}
