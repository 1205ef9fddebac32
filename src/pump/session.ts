import { newCheckpoint, type Checkpoint } from '../domain/checkpoint.ts'
import { fenceLost } from '../domain/failure.ts'
import { repeat } from '../domain/promises.ts'
import type { Policy } from '../domain/policy.ts'
import type { ReadRequest } from '../domain/read-request.ts'
import type { Priority, Stream, Zone } from '../domain/stream.ts'
import type { Ordering } from '../domain/scan/ordering.ts'
import type { SpanFacts, Clock, Telemetry, Tracer } from '../ports/process.ts'
import type { Commit, Holder, Store } from '../ports/store.ts'
import type { Source, AnySink } from '../ports/delivery.ts'
import type { ApiClock } from './api-clock.ts'
import type { LatestPages } from './latest-pages.ts'
import type { SeenMemory } from './seen-window.ts'

export interface PumpDeps {
  readonly source: Source
  readonly store: Store
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly telemetry: Telemetry
  readonly tracer: Tracer
  readonly policy: Policy
  readonly holder: Holder
  readonly random: () => number
  /** Of all pumps of the process; without it each has its own. */
  readonly seenMemory?: SeenMemory
  /** Of all pumps of the process. */
  readonly latestPages?: LatestPages
}

export interface PumpJob {
  readonly stream: Stream
  readonly zone: Zone
  readonly sink: AnySink
  readonly priority: Priority
  /** What the stream starts with where it has no checkpoint. */
  readonly ordering: Ordering
  readonly readRequest?: ReadRequest
  /** Called after each page: false ends the pump in favour of more urgent work. */
  readonly mayGoOn: () => boolean
}

/** What taking a stream needs of a job; the sink is opened separately. */
export type TakeJob = Omit<PumpJob, 'sink'>

export type CommitExtras = Partial<Omit<Commit, 'fence' | 'basedOn' | 'next'>>

/** One pump's hold on a stream: the fence, and the checkpoint. Disposing of it releases the fence and never rejects. */
export type Session = Awaited<ReturnType<typeof takeStream>>

/**
 * Takes the fence of a stream, and with it the checkpoint, the committed lengths and the store's id. Throws `held` while
 * another process has the stream, and the Failures of a store.
 */
export async function takeStream(job: TakeJob, deps: PumpDeps) {
  const { apiClock, store, tracer } = deps
  const { ledger } = store
  const { stream, zone } = job
  const { fence, storeId, checkpoint: stored, dropped } = await ledger.take(stream, deps.holder)
  const now = () => apiClock.now(zone.account)
  let held = stored ?? newCheckpoint(stream, now(), job.ordering)

  /** Throws `fence_lost` when refused, and the Failures of a store. */
  async function commit(next: Checkpoint, extras: CommitExtras = {}): Promise<void> {
    const numbered: Checkpoint = { ...next, commit: held.commit + 1, lastCommitAtMs: now() }
    const own = { fence, basedOn: held.commit, next: numbered }
    await tracer.span('commit', spanFacts(job), async () => {
      const answer = await ledger.commit({ ...own, seen: new Map(), deadLetters: [], gaps: [], ...extras })
      if (answer === 'refused') throw fenceLost()
    })
    held = numbered
  }

  return {
    job,
    deps,
    policy: deps.policy,
    storeId,
    /** What the store had dropped of the day when the stream was taken. */
    dropped,
    /** As the store has it. */
    checkpoint: () => held,
    commit,
    /** The API's clock for the stream's account. */
    now,
    /** The time by which the stream may end; undefined while it is in doubt. */
    sureNow: () => apiClock.sureNow(zone.account),
    /** Rejects with `fence_lost` when another pump took the stream over, or the store has lost its latest commit. */
    async confirm(): Promise<void> {
      if (!(await ledger.holds(stream, fence, held.commit))) throw fenceLost()
    },
    /** Throws `fence_lost` where the store no longer holds the checkpoint. */
    loadSeen: (minutes: readonly number[]) =>
      ledger.loadSeen(stream, minutes, { fence, basedOn: held.commit }),
    // A failed release makes the next pump wait; it must not hide the error that ended this one.
    [Symbol.asyncDispose]: () => ledger.release(stream, fence).catch(() => undefined),
  }
}

export function spanFacts({ stream, priority }: Pick<TakeJob, 'stream' | 'priority'>): SpanFacts {
  return { zone: stream.zone, day: stream.day, sink: stream.sink, priority }
}

const everyMs = 5_000

/** Sends heartbeats of a holder to the store while the work runs. */
export async function withHeartbeat<T>(
  { store, clock, holder }: { readonly store: Store; readonly clock: Clock; readonly holder: Holder },
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  const heartbeat = () => store.ledger.heartbeat(holder)
  // A failed heartbeat is ignored: the next one follows, and the work itself fails if the store is gone.
  const beating = repeat(everyMs, heartbeat, { clock, failed: () => undefined }, ended.signal)
  try {
    return await work()
  } finally {
    ended.abort()
    await beating
  }
}
