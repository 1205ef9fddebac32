import { onTestFinished } from 'vitest'
import { createReading } from '../../src/assemble/api-reading.ts'
import { listZones } from '../../src/discovery/list-zones.ts'
import { createLoggedRuntime } from '../../src/assemble/logged-runtime.ts'
import { systemClock } from '../../src/clock.ts'
import { ZoneDirectory } from '../../src/discovery/zone-directory.ts'
import { dayOf } from '../../src/domain/day.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import type { Store } from '../../src/ports/store.ts'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { load } from '../config/loading.ts'
import { commitOnce } from '../contract/checkpoint-store/builders.ts'

export const never = new AbortController().signal

interface Given {
  readonly options?: SimulatorOptions
  readonly zones?: unknown
  readonly accounts?: unknown
}

/** A simulated API, a store in memory, and directories over them, as processes that start one after the other have. */
export async function world({ options = {}, zones = 'all', accounts }: Given = {}) {
  const simulator = await startSimulator({ zones: [101, 102], ...options })
  onTestFinished(() => simulator.close())
  const account = accounts === undefined ? { zones } : { accounts }
  const api = { baseUrl: simulator.url, ...(accounts === undefined && { accessKey: 'k' }) }
  const { config } = load({ yaml: JSON.stringify({ api, ...account, log: { level: 'silent' } }) })
  let shiftMs = 0
  const clock = {
    ...systemClock,
    now: () => Date.now() + shiftMs,
    steady: () => systemClock.steady() + shiftMs,
  }
  const told: InternalEvent[] = []
  const runtime = createLoggedRuntime(config, { clock, watch: (internalEvent) => told.push(internalEvent) })
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 1 })
  const directory = (schedules = true) =>
    new ZoneDirectory({
      ...runtime,
      store,
      schedules,
      async list(of, which, signal) {
        const reading = createReading(of, runtime)
        onTestFinished(() => reading[Symbol.asyncDispose]())
        return listZones(reading.clientOf)(which, signal)
      },
      changed: () => undefined,
    })
  const first = directory()
  return {
    simulator,
    store,
    runtime,
    config,
    directory,
    pass: (ms: number) => void (shiftMs += ms),
    list: (which = first) => which.refresh(config, never, true),
    ids: (which = first, given = config) => which.fill(given).zones.map(({ id }) => id),
    missing: (which = first) => which.missing(config),
    /** Since the last call of `told`. */
    warnings: () => told.flatMap((each) => (each.name === 'Warned' ? [each.text] : [])),
    /** Since the last call: what was told of zones. */
    told: () =>
      told
        .splice(0)
        .filter(({ name }) => name.startsWith('Zone'))
        .map((each) => [each.name, 'zones' in each ? each.zones : undefined]),
  }
}

/** The API answered the stream of today that it does not know the zone. */
export async function refuse(store: Store, zone: number, nowMs = Date.now()): Promise<void> {
  const stream = { zone, day: dayOf(nowMs), sink: 'stdout' }
  const trouble = { kind: 'refuse', code: 'zone_gone', message: '', count: 1 } as const
  const times = { sinceMs: nowMs, atMs: nowMs, retryAtMs: nowMs }
  const refused = { trouble: { ...trouble, ...times }, committed: [], lastCommitAtMs: nowMs }
  await commitOnce(store, stream, { with: refused })
}

export const found = (...ids: number[]) => ids.map((id) => ({ id, name: '' }))
