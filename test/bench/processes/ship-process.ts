import { randomUUID } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { open, type FileHandle } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLoggedRuntime } from '../../../src/assemble/logged-runtime.ts'
import { Daemon } from '../../../src/process/daemon.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { createShiftedClock } from '../../entry/shifted-clock.ts'
import { answer, taskOf } from './child.ts'
import { measured, usageOf } from './usage.ts'
import type { Run } from './runs.ts'

export interface ShipTask {
  /** Of the simulator. */
  readonly url: string
  readonly zones: readonly number[]
  /** Today counts as one. */
  readonly days: number
  /** Where the state is, and relative paths begin. */
  readonly folder: string
  readonly sinks: readonly Readonly<Record<string, unknown>>[]
  /** Reads everything a second time and measures only that: all of it was seen. */
  readonly again?: boolean
  /** How long each sync takes; as the disk has it unless given. */
  readonly syncMs?: number | undefined
  /** How far its clock is ahead of that of this host. */
  readonly offsetMs?: number | undefined
}

/** All that `run --once` does, with every setting at its default but where things are. */
const { url, zones, days, folder, sinks, again = false, syncMs, offsetMs = 0 } = taskOf() as ShipTask
if (syncMs !== undefined) await slowSyncs(syncMs)
const settings = {
  api: { baseUrl: url, accessKey: 'bench' },
  poll: { firstRunDays: days },
  log: { level: 'error' },
  state: 'sqlite:shieldlog.db',
  zones,
  sinks,
}
const loaded = loadConfig({ draft: settings, env: {}, cwd: folder })
const runtime = createLoggedRuntime(loaded.config, { clock: createShiftedClock({ offsetMs }) })
const signal = new AbortController().signal
const daemon = new Daemon(loaded, { runtime, serve: false, role: 'all', sinkGone: () => undefined })
await daemon.open(signal)
if (again) await drain()
const before = again ? await counted() : 0
let requests = 0
subscribe('undici:request:create', (message) => {
  if ((message as { request: { method: string } }).request.method === 'GET') requests++
})
const usage = await measured(drain)
const events = (await counted()) - before
await daemon.stop()
await answer({ ...usage, events, requests, peakBytes: usageOf(process.pid).peakBytes } satisfies Run)
process.disconnect()

async function drain(): Promise<void> {
  const givenUp = await daemon.engine().drain(randomUUID(), signal)
  if (givenUp.length > 0) throw new Error(`given up: ${givenUp[0]?.reason}`)
}

/** Events that were shipped, or recognised. */
async function counted(): Promise<number> {
  const { routes } = await daemon.engine().status()
  return [...routes]
    .flatMap(({ days: of }) => of)
    .reduce((sum, { delivered, duplicates }) => sum + (again ? duplicates : delivered), 0)
}

/** From here on each sync of a file, and each commit of SQLite that waits for the disk, takes so long. */
async function slowSyncs(ms: number): Promise<void> {
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
