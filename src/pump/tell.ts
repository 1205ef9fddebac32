import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Event } from '../domain/event/event.ts'
import type { Stream } from '../domain/stream.ts'
import type { ScanStep } from '../domain/scan/scan.ts'
import type { Telemetry } from '../ports/process.ts'

/** Emits internal events for what a committed page changed in its stream. */
export function tellChanges(
  telemetry: Telemetry,
  before: Checkpoint,
  after: Checkpoint,
  { end, scan }: ScanStep,
): void {
  const { stream } = after
  if (end === 'complete') {
    const { kind, pages, found, tookMs } = scan
    telemetry.emit({ name: 'ScanCompleted', stream, kind, pages, found, seconds: tookMs / 1000 })
  } else if (end !== 'none') {
    telemetry.emit({ name: 'ScanGuarded', stream, guard: end, pages: scan.pages })
  }
  if (before.trouble !== undefined && after.trouble === undefined) {
    const seconds = (after.lastCommitAtMs - before.trouble.sinceMs) / 1000
    telemetry.emit({ name: 'StreamRecovered', stream, failures: before.trouble.count, seconds })
  }
  if (before.ordering.order !== after.ordering.order) {
    const why =
      after.ordering.revocations > before.ordering.revocations ? 'missed events' : 'scans confirmed it'
    telemetry.emit({
      name: 'OrderingChanged',
      stream,
      from: before.ordering.order,
      to: after.ordering.order,
      why,
    })
  }
  if (before.ended === undefined && after.ended !== undefined) {
    telemetry.emit({ name: 'StreamEnded', stream, as: after.ended.as })
  }
}

/**
 * Emits one internal event when two unseen events of a page have the same id; as each is there once, their times differ.
 * Emits one when an event has an own id, because another one has the same id and time.
 */
export function tellRepeatedIds(telemetry: Telemetry, stream: Stream, unseen: readonly Event[]): void {
  const own = unseen.find(({ hasOwnId }) => hasOwnId === true)
  if (own !== undefined) telemetry.emit({ name: 'IdSharedByEvents', stream, id: own.id })
  const ids = new Set<string>()
  for (const { id } of unseen) {
    if (ids.has(id)) {
      telemetry.emit({ name: 'IdSeenWithOtherTime', stream, id })
      return
    }
    ids.add(id)
  }
}
