import { setImmediate } from 'node:timers/promises'
import { sharePages } from '../../../src/shield/shared-pages.ts'
import { LatestPages } from '../../../src/pump/latest-pages.ts'
import { noRoom } from '../../../src/domain/failure.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import { streamKey, type Priority, type Stream } from '../../../src/domain/stream.ts'
import type { PageRequest, AnySink } from '../../../src/ports/delivery.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { Planner } from '../../../src/plan/planner.ts'
import { createHousekeeping } from '../../../src/upkeep/housekeep.ts'
import type { ArchivedPiece } from '../../../src/days/archived-events.ts'
import { unseeDay } from '../../../src/days/unsee.ts'
import { shipArchived, type Archived } from '../../../src/tasks/backfill/ship-archived.ts'
import { pumpStream } from '../../../src/pump/pump-stream.ts'
import type { EventLogSource } from '../../../src/shield/event-logs.ts'
import { withMemory } from '../with-memory.ts'
import { noTracer } from '../../fakes/no-tracer.ts'
import type { PumpEnd } from './faults.ts'
import { filesName, lakeName, receiverNames } from './entry.ts'
import type { RunOptions } from './any-run.ts'
import type { Run } from './run.ts'

export type Worker = ReturnType<typeof createWorker>

let workers = 0
/**
 * Nobody can tell a wrong clock where answers have no time, unless it is behind and the API refuses all days that are asked
 * for by it. Days that pass before it is set right are not planned, and so no gaps.
 */
function isNoticed({ world, clockSteps }: RunOptions, wrongMs: number): boolean {
  if (world.dates !== 'none') return true
  const isRefused = world.listedDays === world.readableDays && wrongMs <= -3 * 86_400_000
  return isRefused && clockSteps.every(({ forMs }) => forMs !== null && forMs < 86_400_000)
}

/** One process, until it dies, freezes or stops. */
export function createWorker(run: Run, { isCommand = false } = {}) {
  const { faults, files, options, world } = run
  // The steady clock is set by the wall clock at start.
  const wrongMs = run.clock.now() - run.clock.steady()
  const aheadMs = isNoticed(options, wrongMs) ? wrongMs : 0
  if (aheadMs > 0) world.hostIsAhead()
  const clock = { ...run.clock, steady: () => run.clock.steady() + aheadMs }
  const id = `w${workers++}`
  // A process that comes back takes the identity of a dead one, or a new one.
  const writer = faults.freeWriter() ?? id
  files.born(writer)
  const life = faults.life(writer, () => files.died(writer))
  const apiClock = createApiClock(clock)
  const telemetry = { emit: () => undefined }
  const settings = () => ({ zones: run.zones, sinks: run.sinksNow(), policy: run.policy })
  const { store } = run.keeper
  let isFrozen = false
  const hasNoRoom = ({ ifRoom }: PageRequest) => ifRoom === true && life.chance('noRoom')
  const own = {
    async fetchPage(request: PageRequest) {
      await life.step('before fetch')
      if (!options.sharesPages && hasNoRoom(request)) throw noRoom()
      const page = world.fetchPage(request)
      await life.step('after fetch')
      const { requestedAt, clockOffsetMs } = page
      const byOwnClock = clockOffsetMs === undefined ? {} : { clockOffsetMs: clockOffsetMs - aheadMs }
      return { ...page, requestedAt: requestedAt + aheadMs, ...byOwnClock }
    },
  }
  const memory = withMemory(own)
  const source: EventLogSource = {
    ...memory,
    async reserve(request, signal) {
      if (hasNoRoom(request)) throw noRoom()
      return memory.reserve(request, signal)
    },
  }
  const deps = {
    source: sharePages(source, {
      sinks: options.sharesPages ? run.sinks.length : 1,
      keptBytes: 65_536,
      clock,
    }),
    latestPages: new LatestPages(),
    store: faults.store(run.keeper, life),
    clock,
    apiClock,
    telemetry,
    tracer: noTracer,
    policy: run.policy,
    holder: { id, schedule: !options.fleet && !isCommand },
    random: () => 0.5,
  }
  const sinks = new Map<string, AnySink>([
    [filesName, files.sink(filesName, writer, life)],
    ...(options.objects ? [[lakeName, run.bucket.sink(life)] as const] : []),
    ...receiverNames.map((name) => [name, run.receiver.sink(name, life)] as const),
  ])
  return {
    writer,
    // The planner and the housekeeping see the store without faults.
    planner: new Planner({
      store,
      clock,
      turn: setImmediate,
      apiClock,
      telemetry,
      settings,
    }),
    apiClock,
    /** What a running process does twice an hour. */
    async keepHouse(): Promise<void> {
      const { keepDays } = options
      const deps = { store, apiClock, settings, keepDays }
      await createHousekeeping(deps)(life.signal)
    },
    async pump(
      { stream, zone, ordering }: Pick<PlannedStream, 'stream' | 'zone' | 'ordering'>,
      readRequest: string | undefined,
      priority: Priority = 'live',
    ): Promise<PumpEnd> {
      const job = {
        stream,
        zone,
        sink: sinks.get(stream.sink)!,
        priority,
        ordering,
        mayGoOn: () => true,
        ...(readRequest !== undefined && { readRequest: { id: readRequest } }),
      }
      const end = await life.run(streamKey(stream), clock.now(), () => pumpStream(job, deps, life.signal))
      isFrozen = end === 'frozen'
      return end
    },
    /** Makes a day count as not shipped; a fault, or another process that has the stream, leaves it as it is. */
    async unsee(stream: Stream, request: string): Promise<void> {
      const zone = run.zones.find(({ id }) => id === stream.zone)!
      const unsee = () => unseeDay({ stream, zone, request }, deps, life.signal)
      await life.run(streamKey(stream), clock.now(), unsee)
    },
    async shipArchived(
      stream: Stream,
      zone: Run['zones'][number],
      request: string,
      read: () => AsyncIterable<ArchivedPiece>,
    ): Promise<{ end: PumpEnd; archived: Archived | undefined }> {
      const job = { request, stream, zone, sink: sinks.get(stream.sink)!, read }
      let archived: Archived | undefined
      const ship = async () => {
        archived = await shipArchived(job, deps, life.signal)
      }
      const end = await life.run(streamKey(stream), clock.now(), ship)
      isFrozen = end === 'frozen'
      return { end, archived }
    },
    end: life.die,
    isEnded: () => life.isDead() || isFrozen,
  }
}
