import { existsSync } from 'node:fs'
import type { Clock, ScheduleLock, Telemetry } from '../ports/process.ts'
import type { Records } from '../ports/records.ts'
import type { Store } from '../ports/store.ts'
import { nameOf } from '../redis/server-name.ts'
import { openLedger } from './ledger/store.ts'
import type { RedisState } from './redis/records.ts'
import { probeSqliteStore } from './sqlite/probe.ts'
import { openMemoryRecords, openSqliteRecords } from './sqlite/records.ts'
import { createScheduleLock } from './sqlite/schedule-lock.ts'

export interface OpenStoreOptions {
  readonly clock: Clock
  readonly deadLetterMaxBytes: number
  /** False refuses a place without a store instead of making one; `no_store` where only opening shows that. */
  readonly create: boolean
  /** Gets warnings about a server. */
  readonly telemetry: Telemetry
}

/** What each kind of store offers, with its settings. */
export interface StateKind {
  /** Where the state is kept, for people, without secrets. */
  readonly name: string
  /** False when there certainly is no store; true where only opening can find out. */
  exists(): boolean
  /** Throws Failure when a run could not keep its state there. */
  probe(options: OpenStoreOptions): Promise<void>
  /** Throws Failure. */
  open(options: OpenStoreOptions): Promise<Store>
  /** Prevents a second schedule on the store. Absent for a store that processes share. */
  lock?(clock: Clock): ScheduleLock
}

/** Settings of each kind of store, by its `kind`. */
type Settings = { readonly kind: 'sqlite'; readonly path: string } | ({ readonly kind: 'redis' } & RedisState)

export function stateKind(settings: Settings): StateKind {
  if (settings.kind === 'sqlite') {
    const { path } = settings
    const name = `sqlite:${path}`
    return {
      name,
      exists: () => existsSync(path),
      probe: () => probeSqliteStore(path),
      open: async (options) => overRecords(name, options, await openSqliteRecords({ ...options, path })),
      lock: (clock) => createScheduleLock({ path, clock }),
    }
  }
  const name = nameOf(settings)
  const open: StateKind['open'] = async (options) => {
    // The client takes 20 MB, which a process without Redis does not need.
    const { openRedisRecords } = await import('./redis/records.ts')
    return overRecords(name, options, await openRedisRecords({ ...options, state: settings }))
  }
  return { name, exists: () => true, probe: async (options) => (await open(options)).close(), open }
}

/** An empty store that ends with the process. */
export async function openEmptyStore(
  options: Pick<OpenStoreOptions, 'clock' | 'deadLetterMaxBytes'>,
): Promise<Store> {
  return overRecords('memory', { ...options, create: true }, await openMemoryRecords(options.clock))
}

async function overRecords(
  place: string,
  options: Omit<OpenStoreOptions, 'telemetry'>,
  records: Records,
): Promise<Store> {
  try {
    return await openLedger({ ...options, records, place })
  } catch (error) {
    await records.close()
    throw error
  }
}
