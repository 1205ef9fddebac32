import { chmodSync, existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { processName } from '../../domain/plan/process-name.ts'
import type { Clock, ScheduleLock } from '../../ports/process.ts'
import { lockExclusively, type ExclusiveLock } from '../../sqlite/exclusive-lock.ts'
import { isBusy, storeFailure } from './sqlite-failure.ts'
import { prepareStateFile, unwritable } from './state-file.ts'

/** A process that only reads the holder locks the file for less than this. */
const busyTimeoutMs = 50

export interface ScheduleLockOptions {
  /** The store's own path; the lock is beside it as `<path>.lock`. */
  readonly path: string
  readonly clock: Clock
}

/**
 * An exclusive lock on an empty database. `acquire` does not wait. It does not guard two hosts that share a file system
 * without working locks.
 */
export function createScheduleLock(options: ScheduleLockOptions): ScheduleLock {
  const path = `${realPath(resolve(options.path))}.lock`
  const textPath = `${path}.holder`
  let own: { readonly held: ExclusiveLock; readonly text: string } | undefined

  const acquire = (): { ok: true } | { ok: false; holder: string } => {
    if (own !== undefined) return { ok: true }
    prepareStateFile(path, true)
    const held = lock(path)
    if (held === undefined) return { ok: false, holder: readText(textPath) }
    const startedAt = new Date(options.clock.now()).toISOString()
    const text = processName({ pid: process.pid, host: hostname(), startedAt })
    try {
      writeText(textPath, text)
    } catch (error) {
      held.release()
      throw unwritable(textPath, error)
    }
    own = { held, text }
    return { ok: true }
  }

  const release = (): void => {
    if (own === undefined) return
    // Before the lock is released: afterwards the text may be the next holder's.
    rmSync(textPath, { force: true })
    own.held.release()
    own = undefined
  }

  return {
    acquire: async () => acquire(),
    holder: async () => own?.text ?? (isLocked(path) ? readText(textPath) : undefined),
    release: async () => release(),
  }
}

/** A link to the store must lead to the same lock. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

/** Undefined when another connection has the lock. */
function lock(path: string): ExclusiveLock | undefined {
  try {
    return lockExclusively(path, { timeoutMs: busyTimeoutMs })
  } catch (error) {
    if (isBusy(error)) return undefined
    throw storeFailure(error, path)
  }
}

function isLocked(path: string): boolean {
  if (!existsSync(path)) return false
  let handle: DatabaseSync | undefined
  try {
    handle = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    handle.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw storeFailure(error, path)
  } finally {
    handle?.close()
  }
}

function writeText(path: string, text: string): void {
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}

/** While a new holder writes its text, this may return the text of the holder before. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return 'an unnamed process'
  }
}
