import type { PumpDeps, Session } from '../pump/session.ts'
import type { PlanSettings } from '../plan/planner.ts'
import type { AnySink, PartsOwner, Retention } from '../ports/delivery.ts'
import { daysToRemove, type StoredDay, type Candidate, type ReachedLimit } from '../domain/retention.ts'
import { streamKey, type Stream } from '../domain/stream.ts'
import { requestsOf } from '../domain/plan/backfill.ts'
import { sureTimes, isOver } from './housekeep.ts'
import { beginAnew } from '../pump/end-stream.ts'
import { Attempts, ifFree } from '../days/hold-stream.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'

interface RemovalDeps extends PumpDeps {
  readonly settings: () => PlanSettings
  readonly sinks: ReadonlyMap<string, AnySink>
}

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

  async function ownerOf(sink: string): Promise<PartsOwner> {
    const own = (await store.catalogue.sinks()).find(({ name }) => name === sink)
    return { store: store.id, names: [sink, ...(own?.formerly ?? [])] }
  }

  /** What is known of the stored days. One that has to stay has no time. */
  async function judge(stored: readonly StoredDay[], sink: string): Promise<(Candidate & Stream)[]> {
    const requests = requestsOf(await store.backfills.list())
    const checkpoints = await store.catalogue.checkpoints()
    const byStream = new Map(checkpoints.map((each) => [streamKey(each.stream), each]))
    // Another sink is being shipped from these files.
    const archived: Stream[] = []
    for (const { archiveSinceMs, stream } of checkpoints)
      if (archiveSinceMs !== undefined && (await store.ledger.isHeld(stream))) archived.push(stream)
    const { policy, zones, sinks: names } = settings()
    const times = sureTimes(apiClock, zones)
    return stored.map((each) => {
      const stream = { ...each, sink }
      const checkpoint = byStream.get(streamKey(stream))
      const nowMs = times.of(each.zone)
      const isKept =
        nowMs === undefined ||
        !isOver(each.day, nowMs, policy) ||
        // The store drops the checkpoints of ended days only.
        (checkpoint !== undefined && checkpoint.ended === undefined) ||
        archived.some(({ zone, day }) => zone === each.zone && day === each.day) ||
        names.some((name) => requests.awaits({ ...stream, sink: name }))
      return { ...stream, nowMs: isKept ? undefined : nowMs, begun: begunIn(checkpoint) }
    })
  }

  async function mark(session: Session, limit: ReachedLimit): Promise<void> {
    if (begunIn(session.checkpoint()) !== undefined) return
    await beginAnew(session)
    await session.commit({ ...session.checkpoint(), committed: [], removed: { ...limit, atMs: clock.now() } })
  }

  async function removeOf(sink: string, retention: Retention, attempts: Attempts, signal: AbortSignal) {
    const own = await ownerOf(sink)
    const stored = await judge(await retention.stored(own, signal), sink)
    const { chosen, excessBytes } = daysToRemove(stored, retention.limits)
    for (const { stored: each, limit } of chosen) {
      if (signal.aborted) return
      const stream = { zone: each.zone, day: each.day, sink }
      // A zone that left the configuration has no account: nothing is requested for it.
      const left = { id: stream.zone, name: '', account: '' }
      const zone = settings().zones.find(({ id }) => id === stream.zone) ?? left
      // A day that another process holds is left to the next pass.
      const remove = () =>
        ifFree({ stream, zone }, deps, async (session) => {
          if (isInUse(session.checkpoint())) return
          const bytes = await retention.remove(stream, own, () => mark(session, limit), signal)
          if (bytes > 0) telemetry.emit({ name: 'DayRemoved', stream, limit, bytes })
        })
      await attempts.make(remove, signal)
    }
    if (excessBytes > 0) telemetry.emit({ name: 'RetentionExceeded', sink, excessBytes })
  }

  return async (signal) => {
    if (clock.monotonic() < dueAtMs) return
    // Without a time that is sure nothing may be removed: the next call tries again.
    if (settings().zones.every(({ account }) => apiClock.sureNow(account) === undefined)) return
    const attempts = new Attempts()
    for (const [name, sink] of sinks) {
      const retention = 'reconcile' in sink ? sink.retention : undefined
      if (retention === undefined || settings().held?.has(name) === true) continue
      await attempts.make(() => removeOf(name, retention, attempts, signal), signal)
    }
    dueAtMs = clock.monotonic() + everyMs
    if (attempts.failure !== undefined)
      telemetry.emit({ name: 'UpkeepFailed', task: 'retention', error: attempts.failure })
  }
}

/** The limit for which the removal of a day has begun; undefined where none has, or parts were committed since. */
function begunIn(checkpoint: Checkpoint | undefined): ReachedLimit | undefined {
  return checkpoint?.committed.length === 0 ? checkpoint.removed : undefined
}

/** Somebody has begun to ship to the day since it was chosen. */
function isInUse({ commit, ended }: Checkpoint): boolean {
  return commit > 0 && ended === undefined
}
