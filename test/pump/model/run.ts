import { dayMs, shiftDay, startOf, type Day } from '../../../src/domain/day.ts'
import type { Policy } from '../../../src/domain/policy.ts'
import type { Clock } from '../../../src/ports/process.ts'
import type { RunOptions } from './any-run.ts'
import type { Known } from './check-stream.ts'
import { Faults } from './faults.ts'
import { fillWorld } from './fill-world.ts'
import { filesName, lakeName, receiverNames } from './entry.ts'
import { ModelBucket } from './model-bucket.ts'
import { ModelFiles } from './model-files.ts'
import { ModelReceiver } from './model-receiver.ts'
import { createRandom } from './random.ts'
import { keepStore } from './store-keeper.ts'
import { Troubles } from './troubles.ts'
import { World, type ModelClock } from './world.ts'

export type Run = Awaited<ReturnType<typeof createRun>>

export const firstDay = '2026-03-01' as Day

/** After the beginning of the run: what became of its days is known before the end. */
const latestReturnMs = 4.6 * dayMs

export async function createRun(options: RunOptions) {
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
  const sinks = [
    ...[filesName, ...receiverNames].slice(0, options.sinks),
    ...(options.objects ? [lakeName] : []),
  ]
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
    } satisfies Policy,
    zones,
    sinks,
    /** Those that are configured now. */
    sinksNow: () => {
      const elapsedMs = world.now() - span.fromMs
      const { afterMs, forMs } = options.away ?? { afterMs: Infinity, forMs: 0 }
      const untilMs = Math.min(afterMs + forMs, latestReturnMs)
      const isAway = sinks.length > 1 && elapsedMs >= afterMs && elapsedMs < untilMs
      return isAway ? sinks.slice(0, -1) : sinks
    },
    days,
    /** Of people, by stream: not served yet. */
    readRequests: new Map<string, string>(),
    /** The same of old days. */
    backfills: new Map<string, string>(),
    /** How many times somebody has shipped from an archive, the streams of which all was shipped, and lines of them. */
    archives: { tried: 0, shipped: new Set<string>(), lines: new Set<string>() },
    /** What each stream knows of its listing, and entries that it need not have, since none of these was hidden with them. */
    known: new Map<string, readonly Known[]>(),
    /** The same when the copy was made that a store is set back to, which forgets what it has learned since. */
    knownInCopy: new Map<string, readonly Known[]>(),
    excused: new Set<string>(),
  }
}

/** How far the host's wall clock is off. */
function stepAt(steps: RunOptions['clockSteps'], elapsedMs: number): number {
  return steps
    .filter(({ afterMs, forMs }) => elapsedMs >= afterMs && elapsedMs < afterMs + (forMs ?? Infinity))
    .reduce((sum, { byMs }) => sum + byMs, 0)
}
