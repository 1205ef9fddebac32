import { chmodSync, existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import type { Clock, ScheduleLock } from '../../ports/process.ts'
import { lockExclusively } from '../../sqlite/exclusive-lock.ts'
import { isBusy, logsOf, refusal, storeFailure } from './database.ts'
import { prepareStateFile, unwritable } from './state-file.ts'

/** A process that only reads the holder locks the file for less than this. */
const busyTimeoutMs = 50

/**
 * An exclusive lock on an empty database beside the store, `<path>.lock`. `acquire` does not wait. It does not guard two
 * hosts that share a file system without working locks.
 */
export function createScheduleLock(store: string, clock: Clock): ScheduleLock {
  const path = lockOf(store)
  const textPath = holderOf(path)
  /** Releases the lock; undefined while this process does not hold it. */
  let held: (() => void) | undefined
  return {
    async acquire() {
      if (held !== undefined) return undefined
      prepareStateFile(path)
      const release = unlessBusy(path, () => lockExclusively(path, { timeoutMs: busyTimeoutMs }))
      if (release === undefined) return readText(textPath)
      const startedAt = new Date(clock.now()).toISOString()
      try {
        const text = `process ${process.pid} on host ${hostname()}, since ${startedAt}`
        writeFileSync(textPath, text, { mode: 0o600 })
        chmodSync(textPath, 0o600)
      } catch (error) {
        release()
        throw unwritable(textPath, error)
      }
      held = release
      return undefined
    },
    holder: async () => (held !== undefined || isLocked(path) ? readText(textPath) : undefined),
    async release() {
      if (held === undefined) return
      // Before the lock is released: afterwards the text may be the next holder's.
      rmSync(textPath, { force: true })
      held()
      held = undefined
    },
  }
}

/** A link to the store must lead to the same lock. */
const lockOf = (store: string) => `${existsSync(store) ? realpathSync(store) : store}.lock`
const holderOf = (lock: string) => `${lock}.holder`

/**
 * Who has the lock has the store open, and most of what it stored last may be in the log: another connection would begin
 * a new one, and find an older store, or none. Throws `store_refuses` where the log is missing.
 */
export function refuseWithoutLog(store: string): void {
  const lost = logsOf(store).find((place) => !existsSync(place))
  const lock = lockOf(store)
  if (lost === undefined || !isLocked(lock)) return
  const text = `${lost}, which the state ${store} needs, was removed while ${readText(holderOf(lock))} uses it`
  throw refusal(`${text}: stop that process, which writes what it holds to the state, and start it again`)
}

/**
 * Who has the lock of a store that is not there ships nothing, and would go on with another file at its place. Throws
 * `store_refuses`.
 */
export function refuseRemoved(store: string): void {
  const lock = lockOf(store)
  if (existsSync(store) || !isLocked(lock)) return
  const text = `the state ${store} was moved or removed while ${readText(holderOf(lock))} uses it`
  throw refusal(`${text}: put it back, or stop that process and start it again`)
}

/** Undefined when another connection has the lock. */
function unlessBusy<T>(path: string, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isBusy(error)) return undefined
    throw storeFailure(error, path)
  }
}

function isLocked(path: string): boolean {
  if (!existsSync(path)) return false
  const looked = unlessBusy(path, () => {
    using database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    return database.prepare('SELECT count(*) FROM sqlite_schema').get()
  })
  return looked === undefined
}

/** While a new holder writes its text, this may return the text of the holder before. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return 'an unnamed process'
  }
}

/** Reads the name of a holder; undefined for a text of another form. */
export function readHolder(text: string) {
  const [, pid, host = '', startedAt = ''] =
    /^process (\d+) on host (.+), since (\d{4}-\S+)$/.exec(text) ?? []
  return pid === undefined ? undefined : { pid: Number(pid), host, startedAt }
}
