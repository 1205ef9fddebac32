import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Identity } from '../../domain/event/event.ts'
import type { PartEnd, PartReport } from '../../domain/audit-report.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Store } from '../../ports/store.ts'

/** Lines of a part in order; a line that no format can read has no identity. */
export interface PartLines {
  readonly part: string
  readonly from: number
  readonly identities: readonly (Identity | undefined)[]
}

export interface AuditedSink {
  readonly name: string
  /** Parts of a sink that keeps committed lengths. Absent for others. */
  compareParts?(stream: Stream, checkpoint: Checkpoint | undefined): Promise<readonly PartReport[]>
  /** What its parts hold up to these committed lengths. Absent for other sinks. */
  readLines?(stream: Stream, committed: readonly CommittedPart[]): AsyncIterable<PartLines | PartEnd>
}

export interface PartsDeps {
  readonly store: Pick<Store, 'ledger'>
  readonly clock: Clock
  /** Whether a running process ships from this store: then it is about to ship what has just happened. */
  isShipping(): Promise<boolean>
}

const partLooks = 5
const partPauseMs = 300

/** Looks several times: a delivery in progress lengthens a part before its new length is committed. */
export async function differingParts(
  sink: AuditedSink,
  stream: Stream,
  { store, clock, isShipping }: PartsDeps,
  signal: AbortSignal,
): Promise<readonly PartReport[]> {
  if (sink.compareParts === undefined) return []
  for (let looks = 1; ; looks++) {
    const parts = await sink.compareParts(stream, await store.ledger.read(stream))
    if (parts.every(({ problem }) => problem === 'foreign')) return parts
    if (looks < partLooks) {
      await clock.sleep(partPauseMs, signal)
      continue
    }
    // What lies beyond the committed lengths is about to be committed, or was left by a process that died.
    if (!(await isShipping())) return parts
    return parts.filter(({ problem }) => problem !== 'longer' && problem !== 'unknown')
  }
}
