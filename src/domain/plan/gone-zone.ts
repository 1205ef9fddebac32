import type { Checkpoint } from '../checkpoint.ts'
import { dayOf, unreadableAt } from '../day.ts'
import type { FoundZone } from '../zone-list.ts'

/** Whether the API's latest word on a zone, by the checkpoints of its streams, is that it does not know it. */
export function isGone(held: readonly Checkpoint[]): boolean {
  const said = held.flatMap(({ trouble }) => (trouble?.code === 'zone_gone' ? [trouble.atMs] : []))
  const saidAtMs = Math.max(...said)
  return (
    said.length > 0 &&
    held.every(
      ({ trouble, ended, lastCommitAtMs }) =>
        trouble?.code === 'zone_gone' || ended !== undefined || lastCommitAtMs <= saidAtMs,
    )
  )
}

/**
 * Whether a zone that the API still answers for, although it does not list it, has nothing left: no day can be read
 * any more on which it was listed or had events.
 */
export function isReadToItsEnd(
  { leftAtMs }: Required<FoundZone>,
  held: readonly Checkpoint[],
  now: { readonly nowMs: number; readonly readableDays: number },
): boolean {
  const withEvents = held.flatMap(({ stream, counters }) => (counters.events > 0 ? [stream.day] : []))
  const last = [dayOf(leftAtMs), ...withEvents].toSorted().at(-1)!
  return now.nowMs >= unreadableAt(last, now.readableDays)
}
