import { startOf, type Day } from '../../../src/domain/day.ts'
import type { PlannedStream } from '../../../src/domain/plan.ts'
import type { Lane, Stream } from '../../../src/domain/stream.ts'
import { noTrust } from '../../../src/domain/trust.ts'

const day = '2026-11-20' as Day

export function streamOf(zone: number, sink = 'archive'): Stream {
  return { zone, day, sink }
}

/** A stream as a plan names it, with the due time that a test wants. */
export function plannedStream(stream: Stream, lane: Lane, dueAtMs: number, account = 'main'): PlannedStream {
  return {
    stream,
    lane,
    zone: { id: stream.zone, name: `zone-${stream.zone}`, account },
    checkpoint: undefined,
    state: 'open',
    dueAtMs,
    wantedAtMs: dueAtMs,
    unreadableAtMs: startOf(stream.day) + 3 * 86_400_000,
    trust: noTrust,
  }
}
