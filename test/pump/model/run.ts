import { shiftDay, startOf, type Day } from '../../../src/domain/day.ts'
import type { Policy } from '../../../src/domain/policy.ts'
import type { Zone } from '../../../src/domain/stream.ts'
import type { LoadBounds } from '../../../src/ports/delivery.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { Faults, type FaultShares } from './faults.ts'
import { fillWorld } from './fill-world.ts'
import { lakeName, ModelBucket } from './model-bucket.ts'
import { ModelFiles } from './model-files.ts'
import { ModelReceiver } from './model-receiver.ts'
import { createRandom, type Random } from './random.ts'
import { keepStore, type StoreKeeper } from './store-keeper.ts'
import { Troubles } from './troubles.ts'
import { World, type ModelClock, type WorldOptions } from './world.ts'

/** The host's wall clock is wrong by `byMs` for a while. */
export interface ClockStep {
  /** After the beginning of the run. */
  readonly afterMs: number
  /** Null for ever. */
  readonly forMs: number | null
  readonly byMs: number
}

export interface RunOptions {
  readonly seed: number
  readonly world: WorldOptions
  readonly zones: number
  /** Of the files alone, or of the files and one or two HTTP sinks. */
  readonly sinks: number
  /** A sink of numbered objects besides. */
  readonly objects: boolean
  /** Streams of one zone and day get one answer for the same page. */
  readonly sharesPages: boolean
  readonly days: number
  readonly perDay: number
  /** Share of entries that no listing should hold. */
  readonly oddShare: number
  readonly everyMs: number
  readonly overlapMs: number
  /** When a load is full. */
  readonly load: Pick<LoadBounds, 'events' | 'pages'>
  /** Events in a body of the HTTP sink. */
  readonly bodyEvents: number
  readonly faults: FaultShares
  /** Times of trouble in all, and the longest. */
  readonly troubles: { readonly count: number; readonly longestMs: number }
  /** How often the store is set back to a copy of itself, per turn of the schedule. */
  readonly setBackShare: number
  /** Steps of the host's wall clock. */
  readonly clockSteps: readonly ClockStep[]
  /** How long the checkpoints of complete days are kept. */
  readonly keepDays: number
  /** How often a person read requests for a full scan of some stream, per turn of the schedule. */
  readonly readRequestShare: number
  /** Many workers, of which one may freeze; otherwise one process that crashes and comes back. */
  readonly fleet: boolean
}

export interface Run {
  readonly options: RunOptions
  readonly time: ModelClock
  readonly clock: Clock
  readonly random: Random
  readonly world: World
  readonly troubles: Troubles
  readonly keeper: StoreKeeper
  readonly files: ModelFiles
  readonly receiver: ModelReceiver
  readonly bucket: ModelBucket
  readonly faults: Faults
  readonly policy: Policy
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly days: readonly Day[]
  /** Read requests of people that were not served yet, by stream. */
  readonly readRequests: Map<string, string>
}

export const firstDay = '2026-03-01' as Day
export const filesName = 'files'
export const receiverNames = ['siem', 'second']

export async function createRun(options: RunOptions): Promise<Run> {
  const random = createRandom(options.seed)
  const time: ModelClock = { hostMs: startOf(firstDay) + 60_000 - options.world.skewMs }
  const beganMs = time.hostMs
  const clock: Clock = {
    now: () => time.hostMs + stepAt(options.clockSteps, time.hostMs - beganMs),
    steady: () => time.hostMs,
    monotonic: () => time.hostMs,
    sleep: async (ms) => void (time.hostMs += ms),
  }
  const zones = Array.from({ length: options.zones }, (_, index) => {
    return { id: index + 1, name: `zone${index + 1}`, account: `account${index + 1}` }
  })
  const days = Array.from({ length: options.days }, (_, index) => shiftDay(firstDay, index))
  const ids = zones.map(({ id }) => id)
  const span = { fromMs: startOf(firstDay), toMs: startOf(shiftDay(firstDay, options.days + 2)) }
  const troubles = new Troubles(options.troubles, span, ids, random)
  const world = new World(options.world, time, random, troubles)
  fillWorld(world, ids, days, options, random)
  const hasTrouble = (trouble: 'sink down' | 'sink refuses') => troubles.has(trouble, world.now())
  return {
    options,
    time,
    clock,
    random,
    world,
    troubles,
    keeper: await keepStore(clock),
    files: new ModelFiles(options.load),
    receiver: new ModelReceiver(
      () => (hasTrouble('sink down') ? 'down' : hasTrouble('sink refuses') ? 'refuses' : 'up'),
      (id) => id.endsWith('7'),
      options,
    ),
    bucket: new ModelBucket(time, random),
    faults: new Faults(options.faults, random, options.fleet),
    policy: {
      everyMs: options.everyMs,
      readableDays: options.world.readableDays,
      firstRunDays: 1,
      overlapMs: options.overlapMs,
      fullScanMs: 3_600_000,
      settleAfterMs: [0.5, 6, 24, 44].map((hours) => hours * 3_600_000),
    },
    zones,
    sinks: [...[filesName, ...receiverNames].slice(0, options.sinks), ...(options.objects ? [lakeName] : [])],
    days,
    readRequests: new Map(),
  }
}

/** How far the host's wall clock is off. */
function stepAt(steps: readonly ClockStep[], elapsedMs: number): number {
  return steps
    .filter(({ afterMs, forMs }) => elapsedMs >= afterMs && elapsedMs < afterMs + (forMs ?? Infinity))
    .reduce((sum, { byMs }) => sum + byMs, 0)
}
