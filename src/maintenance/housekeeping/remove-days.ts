import type { Checkpoint } from '../../domain/checkpoint.ts'
import { isFailure, type Failure } from '../../domain/failure.ts'
import { requestsOf } from '../../domain/plan/backfill.ts'
import { daysToRemove, type Candidate, type ReachedLimit, type StoredDay } from '../../domain/retention.ts'
import { onlyStream, streamKey, type Stream } from '../../domain/stream.ts'
import type { PlanSettings } from '../../plan/planner.ts'
import type { AnySink, PartsOwner, Retention } from '../../ports/delivery.ts'
import { takeStream, type PumpDeps } from '../../pump/session.ts'
import { beginAnew, shortJob } from '../hold-stream.ts'
import { isOver, sureTimes } from './housekeep.ts'
import { isOfSink } from './reconcile-sinks.ts'

interface RemovalDeps extends PumpDeps {
  readonly settings: () => PlanSettings
  readonly sinks: ReadonlyMap<string, AnySink>
}

interface KeptSink {
  readonly sink: string
  readonly retention: Retention
  readonly own: PartsOwner
}

type Attempt = (work: () => Promise<void>) => Promise<void>

/** A pass looks at every folder of a day. */
const everyMs = 3_600_000

/**
 * Removes old days of sinks with a retention, once an hour: whole days that have ended and that nothing will read any
 * more, by a time that is sure. The day's checkpoint gets the mark of the removal before its first part goes, under the
 * stream's fence: a process that dies in between leaves parts, which the next pass removes.
 */
export function createDayRemoval(deps: RemovalDeps): (signal: AbortSignal) => Promise<void> {
  const { apiClock, clock, settings, sinks, store, telemetry } = deps
  let dueAtMs = -Infinity

  async function keptSinks(): Promise<KeptSink[]> {
    const known = await store.catalogue.sinks()
    return [...sinks.values()].flatMap((sink) => {
      const retention = 'reconcile' in sink ? sink.retention : undefined
      if (retention === undefined || settings().held?.has(sink.name) === true) return []
      const formerly = known.find(({ name }) => name === sink.name)?.formerly ?? []
      return [{ sink: sink.name, retention, own: { store: store.id, names: [sink.name, ...formerly] } }]
    })
  }

  /** What is known of the stored days. One that has to stay has no time. */
  async function judge(stored: readonly StoredDay[], sink: string): Promise<(Candidate & Stream)[]> {
    const requests = requestsOf(await store.backfills.list())
    const checkpoints = await store.catalogue.checkpoints()
    const known = new Map(checkpoints.map((each) => [streamKey(each.stream), each]))
    // Another sink may be shipped from these files.
    const archived = new Set(
      checkpoints.flatMap(({ archives, stream }) => (archives === undefined ? [] : [placeKey(stream)])),
    )
    const { policy, sinks: names } = settings()
    const nowOf = sureTimes(apiClock, settings())
    return stored.map((each) => {
      const stream = { ...each, sink }
      const checkpoint = known.get(streamKey(stream))
      const nowMs = nowOf(each.zone)
      const isKept =
        nowMs === undefined ||
        !isOver(each.day, nowMs, policy) ||
        // The store drops the checkpoints of ended days only.
        (checkpoint !== undefined && checkpoint.ended === undefined) ||
        archived.has(placeKey(each)) ||
        names.some((name) => requests.awaits({ ...stream, sink: name }))
      return { ...stream, nowMs: isKept ? undefined : nowMs, begun: begunIn(checkpoint) }
    })
  }

  /** Leaves a day to the next pass that another process holds. */
  async function removeOne(
    stream: Stream,
    limit: ReachedLimit,
    { retention, own }: KeptSink,
    signal: AbortSignal,
  ): Promise<void> {
    // A zone that left the configuration has no account: nothing is requested for it.
    const left = { id: stream.zone, name: '', account: '' }
    const zone = settings().zones.find(({ id }) => id === stream.zone) ?? left
    try {
      await using session = await takeStream(shortJob({ stream, zone }), deps)
      if (isInUse(session.checkpoint())) return
      const mark = async () => {
        if (begunIn(session.checkpoint()) !== undefined) return
        await beginAnew(session)
        const next = { ...session.checkpoint(), committed: [], removed: { ...limit, atMs: clock.now() } }
        await session.commit(next)
      }
      const bytes = await retention.remove(stream, own, mark, signal)
      if (bytes > 0) telemetry.emit({ name: 'DayRemoved', stream, limit, bytes })
    } catch (error) {
      if (!isFailure(error, 'held', 'fence_lost')) throw error
    }
  }

  async function removeOf(kept: KeptSink, attempt: Attempt, signal: AbortSignal): Promise<void> {
    const { sink, retention, own } = kept
    const stored = await judge(await retention.stored(own, signal), sink)
    const { chosen, excessBytes } = daysToRemove(stored, retention.limits)
    for (const { stored: each, limit } of chosen) {
      if (signal.aborted) return
      await attempt(() => removeOne(onlyStream(each), limit, kept, signal))
    }
    if (excessBytes > 0) telemetry.emit({ name: 'RetentionExceeded', sink, excessBytes })
  }

  return async (signal) => {
    if (clock.monotonic() < dueAtMs) return
    // Without a time that is sure nothing may be removed: the next call tries again.
    if (settings().zones.every(({ account }) => apiClock.sureNow(account) === undefined)) return
    let first: Failure | undefined
    // A day that cannot be removed is in the way of no other.
    const attempt: Attempt = async (work) => {
      try {
        await work()
      } catch (error) {
        if (signal.aborted || !isOfSink(error)) throw error
        first ??= error
      }
    }
    for (const kept of await keptSinks()) await attempt(() => removeOf(kept, attempt, signal))
    dueAtMs = clock.monotonic() + everyMs
    if (first !== undefined) telemetry.emit({ name: 'UpkeepFailed', task: 'retention', error: first })
  }
}

/** Undefined where later parts were committed since: then it is a stored day as any other. */
function begunIn(checkpoint: Checkpoint | undefined): ReachedLimit | undefined {
  return checkpoint?.committed.length === 0 ? checkpoint.removed : undefined
}

function placeKey({ zone, day }: Pick<Stream, 'zone' | 'day'>): string {
  return `${zone}/${day}`
}

/** Somebody has begun to ship to the day since it was chosen. */
function isInUse({ commit, ended, archives }: Checkpoint): boolean {
  return archives !== undefined || (commit > 0 && ended === undefined)
}
