import type { Checkpoint } from '../domain/checkpoint.ts'
import type { DeadLetter } from '../domain/event/delivery.ts'
import type { Identity } from '../domain/event/event.ts'
import { Failure } from '../domain/failure.ts'
import type { Gap } from '../domain/gap.ts'
import type { Policy } from '../domain/policy.ts'
import type { ReadRequest } from '../domain/read-request.ts'
import type { Priority, Stream, Zone } from '../domain/stream.ts'
import type { Ordering } from '../domain/scan/ordering.ts'
import type { SpanFacts } from '../domain/span.ts'
import type { Clock, Telemetry, Tracer } from '../ports/process.ts'
import type { Commit, Holder, Store } from '../ports/store.ts'
import type { Source, AnySink } from '../ports/delivery.ts'
import type { ApiClock } from './api-clock.ts'
import type { SeenMemory } from './seen-window.ts'
import { tracedSource } from './fetch-page.ts'

export interface PumpDeps {
  readonly source: Source
  readonly store: Store
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly telemetry: Telemetry
  readonly tracer: Tracer
  /** Read again by each pump, since a reload may change it. */
  readonly policy: () => Policy
  readonly holder: Holder
  readonly random: () => number
  /** Of all pumps of the process; without it each has its own. */
  readonly seenMemory?: SeenMemory
}

/** What one pump is to work on. */
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

/** One pump's hold on a stream: the fence, and the checkpoint. */
export interface Session<Job = PumpJob> {
  readonly job: Job
  readonly deps: PumpDeps
  readonly policy: Policy
  /** Source of the pages; each fetch has a span. */
  readonly source: Source
  /** As the store has it, except for what `commitReading` has put off. */
  readonly checkpoint: () => Checkpoint
  readonly storeId: string
  /** The API's clock for the stream's account. */
  readonly now: () => number
  /** The time by which the stream may end; undefined while it is in doubt. */
  readonly sureNow: () => number | undefined
  /** Rejects with `fence_lost` when another pump took the stream over. */
  confirm(): Promise<void>
  /** Commits the next checkpoint with its extras. Throws `fence_lost` when refused, and the Failures of a store. */
  commit(next: Checkpoint, extras?: CommitExtras): Promise<void>
  /**
   * Commits a checkpoint that differs from the one before only in what was read; most pages of a re-read have nothing
   * new. It goes to the store at most once a second: a crash costs the pages of that second, which are read again.
   * Returns false if it waits for the next commit.
   */
  commitReading(next: Checkpoint): Promise<boolean>
  /** Commits what `commitReading` has put off. */
  flush(): Promise<void>
}

export interface CommitExtras {
  readonly seen?: ReadonlyMap<number, Uint8Array>
  readonly unsee?: Commit['unsee']
  readonly deadLetters?: readonly DeadLetter[]
  readonly removedDeadLetters?: readonly Identity[]
  readonly gaps?: readonly Gap[]
}

const putOffMs = 1_000

export function createSession<Job extends Omit<PumpJob, 'sink'>>(
  job: Job,
  deps: PumpDeps,
  taken: { fence: number; storeId: string; checkpoint: Checkpoint },
): Session<Job> {
  let held = taken.checkpoint
  let isPutOff = false
  let committedAtMs = deps.clock.monotonic()
  const facts = spanFacts(job)
  const now = () => deps.apiClock.now(job.zone.account)

  async function commit(next: Checkpoint, extras: CommitExtras = {}): Promise<void> {
    const numbered: Checkpoint = { ...next, commit: held.commit + 1, lastCommitAtMs: now() }
    await deps.tracer.span('commit', facts, async () => {
      const answer = await deps.store.ledger.commit({
        fence: taken.fence,
        basedOn: held.commit,
        next: numbered,
        seen: extras.seen ?? new Map(),
        unsee: extras.unsee ?? new Map(),
        deadLetters: extras.deadLetters ?? [],
        removedDeadLetters: extras.removedDeadLetters ?? [],
        gaps: extras.gaps ?? [],
      })
      if (answer === 'refused') throw fenceLost()
    })
    held = numbered
    isPutOff = false
    committedAtMs = deps.clock.monotonic()
  }

  return {
    job,
    deps,
    policy: deps.policy(),
    source: tracedSource(facts, deps),
    checkpoint: () => held,
    storeId: taken.storeId,
    now,
    sureNow: () => deps.apiClock.sureNow(job.zone.account),
    async confirm() {
      if (!(await deps.store.ledger.holds(job.stream, taken.fence))) throw fenceLost()
    },
    commit,
    async commitReading(next) {
      if (deps.clock.monotonic() - committedAtMs >= putOffMs) {
        await commit(next)
        return true
      }
      held = next
      isPutOff = true
      return false
    },
    async flush() {
      if (isPutOff) await commit(held)
    },
  }
}

/** The facts about its stream in each span of a pump. */
export function spanFacts({ stream, priority }: Pick<PumpJob, 'stream' | 'priority'>): SpanFacts {
  return { zone: stream.zone, day: stream.day, sink: stream.sink, priority }
}

function fenceLost(): Failure {
  const why = 'another process took over the stream, or the store lost a commit'
  return new Failure('cancelled', 'fence_lost', why)
}
