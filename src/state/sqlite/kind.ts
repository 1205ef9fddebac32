import { existsSync } from 'node:fs'
import type { StateKind } from '../state-kind.ts'
import { probeSqliteStore } from './probe.ts'
import { createScheduleLock } from './schedule-lock.ts'
import { openSqliteStore } from './store.ts'

export interface SqliteState {
  /** `:memory:` for a store that ends with the process. */
  readonly path: string
}

export function sqliteKind({ path }: SqliteState): StateKind {
  return {
    name: `sqlite:${path}`,
    exists: () => existsSync(path),
    probe: () => probeSqliteStore(path),
    open: (options) => openSqliteStore({ ...options, path }),
    lock: (clock) => createScheduleLock({ path, clock }),
  }
}
