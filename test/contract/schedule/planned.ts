import { startOf, type Day } from '../../../src/domain/day.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import type { Priority, Stream } from '../../../src/domain/stream.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'

const day = '2026-11-20' as Day

export function streamOf(zone: number, sink = 'archive'): Stream {
  return { zone, day, sink }
}

/** A stream as a plan names it, with the due time that a test wants. */
export function plannedStream(stream: Stream, priority: Priority, dueAtMs: number): PlannedStream {
  return {
    stream,
    priority,
    zone: { id: stream.zone, name: `zone-${stream.zone}`, account: 'main' },
    checkpoint: undefined,
    state: 'open',
    dueAtMs,
    wantedAtMs: dueAtMs,
    unreadableAtMs: startOf(stream.day) + 3 * 86_400_000,
    ordering: unknownOrdering,
  }
}
