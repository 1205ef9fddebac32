import { setImmediate } from 'node:timers/promises'
import type { AuditRecord } from '../../src/domain/audit-report.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import type { Day } from '../../src/domain/day.ts'
import type { DeadLetterCount } from '../../src/domain/event/delivery.ts'
import type { MinuteCount } from '../../src/domain/event/seen.ts'
import type { Backfill } from '../../src/domain/plan/backfill.ts'
import { readPage, type MapView } from '../../src/status/map.ts'
import type { WorkerStatus, Store } from '../../src/ports/store.ts'
import { streamKey, type Gap, type Zone } from '../../src/domain/stream.ts'
import { Planner } from '../../src/plan/planner.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { createLagHistory } from '../../src/status/lag-history.ts'
import { createStatusViews } from '../../src/status/views.ts'
import { at, policy, today } from '../domain/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

/** What a store holds, as a test writes it down. Tests change it while a page shows it. */
export type World = ReturnType<typeof emptyWorld>

const startedAt = new Date(at(10) - 3 * 86_400_000).toISOString()

export function emptyWorld(zones: Zone[] = [], sinks: string[] = [], firstDay: Day = today) {
  const workers: WorkerStatus[] = [{ role: 'all', name: '812@siem-1', pid: 812, host: 'siem-1', startedAt }]
  return {
    /** ms since the epoch. */
    nowMs: at(14) + 192_000,
    zones,
    sinks,
    firstDay,
    checkpoints: [] as Checkpoint[],
    gaps: [] as Gap[],
    deadLetters: [] as DeadLetterCount[],
    backfills: [] as Backfill[],
    workers,
    pauses: [] as MapView['pauses'],
    /** By stream. */
    minutes: new Map<string, MinuteCount[]>(),
    audits: new Map<string, AuditRecord>(),
    /** Throws where the store does not answer. */
    trouble: (): void => undefined,
  }
}

/** How long work on a fleet has held the event loop, and what lets it turn. */
interface TurnSteps {
  readonly monotonic: () => number
  readonly turn: () => Promise<unknown>
}

/** A store that only reads, from the world as it is now. */
function storeOf(world: World): Store {
  const read =
    <Value>(value: () => Value) =>
    async () => {
      world.trouble()
      return value()
    }
  const routes = () =>
    world.zones.flatMap(({ id }) =>
      world.sinks.map((sink) => ({ zone: id, sink, firstDay: world.firstDay, plannedAtMs: world.nowMs })),
    )
  const ledger: Partial<Store['ledger']> = {
    auditOf: (stream) => Promise.resolve(world.audits.get(streamKey(stream))),
    minutes: (stream) => Promise.resolve(world.minutes.get(streamKey(stream)) ?? []),
  }
  const catalogue: Partial<Store['catalogue']> = {
    // A list of its own, as real stores give: the planner compares it with the one before.
    checkpoints: read(() => [...world.checkpoints]),
    routes: read(routes),
    gaps: read(() => world.gaps),
    differences: read(() => []),
  }
  const deadLetters: Partial<Store['deadLetters']> = {
    counts: read(() => world.deadLetters),
  }
  const backfills = { list: read(() => world.backfills) }
  return {
    ledger,
    catalogue,
    deadLetters,
    backfills,
    writes: { failure: () => undefined },
  } as unknown as Store
}

/** What reads a world as it is now, as a daemon reads its store. */
export function depsOf(
  world: World,
  steps: TurnSteps = { monotonic: () => performance.now(), turn: setImmediate },
) {
  const now = () => world.nowMs
  const fake = createFakeClock(world.nowMs)
  const clock = { ...fake, now, monotonic: steps.monotonic }
  const deps = {
    store: storeOf(world),
    clock,
    apiClock: { ...createApiClock(fake), now },
    settings: () => ({ zones: world.zones, sinks: world.sinks, policy }),
    turn: steps.turn,
    workers: () => Promise.resolve(world.workers),
    isRetired: () => false,
    keepDays: 14,
    pauses: () => Promise.resolve(world.pauses),
  }
  return { ...deps, planner: new Planner({ ...deps, telemetry: { emit: () => undefined } }) }
}

/** The views of a world, made by the code that makes them in a daemon. */
export function viewsOf(world: World, steps?: TurnSteps) {
  const history = createLagHistory()
  const deps = depsOf(world, steps)
  const views = createStatusViews({
    version: '1.0.0',
    fleet: () => readPage(deps),
    history,
    store: deps.store,
  })
  return { views, history }
}
