import { DatabaseSync } from 'node:sqlite'

/** Connections that hold a lock: garbage collection of one would release its lock. */
const held = new Set<DatabaseSync>()

/**
 * Locks a database file by an exclusive transaction that stays open: the operating system releases it when the process
 * ends, however it ends, and no process id is compared, which another container may use too. Throws the error of
 * SQLite: busy (code 5) where another connection has the lock, `timeoutMs` later too. Returns its release, which may be
 * called twice.
 */
export function lockExclusively(file: string | URL, { timeoutMs = 0, pragmas = '' } = {}): () => void {
  const database = new DatabaseSync(file, { timeout: timeoutMs })
  try {
    database.exec(`${pragmas}; BEGIN EXCLUSIVE`)
  } catch (error) {
    database.close()
    throw error
  }
  held.add(database)
  return () => {
    if (held.delete(database)) database.close()
  }
}

/** The primary result code: the extended ones carry it in their low byte. Undefined where SQLite did not throw it. */
export function resultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined
  return error.errcode & 0xff
}
