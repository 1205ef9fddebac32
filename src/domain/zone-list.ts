import type { Checkpoint } from './checkpoint.ts'
import { dayOf, unreadableAt } from './day.ts'

/** A zone of an account whose zones are discovered. */
export interface FoundZone {
  readonly id: number
  /** As the API lists it; may be empty. */
  readonly name: string
  /** When a listing first left it out; absent while it is listed. ms since the epoch. */
  readonly leftAtMs?: number
}

/** Those listed last, and those that are still read. A configuration may leave some of them out. */
export interface ZoneList {
  readonly account: string
  /** Of the latest listing, by the clock of the host that asked for it. */
  readonly listedAtMs: number
  readonly zones: readonly FoundZone[]
}

/**
 * What a listing makes of the zones known so far. A zone that one listing leaves out is still read; a later listing
 * retires it if it is over (`isOver`), or another account lists it (`elsewhere`): that account reads it from then on.
 */
export function relist(
  before: readonly FoundZone[],
  listed: readonly Pick<FoundZone, 'id' | 'name'>[],
  now: {
    readonly nowMs: number
    readonly isOver: (zone: Required<FoundZone>) => boolean
    readonly elsewhere: ReadonlySet<number>
  },
) {
  const ids = new Set(listed.map(({ id }) => id))
  const present = new Set(before.flatMap(({ id, leftAtMs }) => (leftAtMs === undefined ? [id] : [])))
  const absent = before.filter(({ id }) => !ids.has(id) && !now.elsewhere.has(id))
  const isRetired = ({ leftAtMs, ...zone }: FoundZone) =>
    leftAtMs !== undefined && now.isOver({ ...zone, leftAtMs })
  const shown = listed.map(({ id, name }) => ({ id, name }))
  const kept = absent.filter((zone) => !isRetired(zone))
  const zones: FoundZone[] = [...shown, ...kept.map((zone) => ({ leftAtMs: now.nowMs, ...zone }))]
  return {
    zones: zones.toSorted((one, other) => one.id - other.id),
    /** Not known, or not listed, before. */
    added: shown.filter(({ id }) => !present.has(id)),
    /** Listed until now. */
    left: kept.filter(({ leftAtMs }) => leftAtMs === undefined),
    /** Read no more. */
    retired: absent.filter(isRetired),
  }
}

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

/** Of a zone that is no longer listed: no day can be read any more on which it was listed or had events. */
export function isReadToItsEnd(
  { leftAtMs }: Required<FoundZone>,
  held: readonly Checkpoint[],
  now: { readonly nowMs: number; readonly readableDays: number },
): boolean {
  const withEvents = held.flatMap(({ stream, counters }) => (counters.events > 0 ? [stream.day] : []))
  const last = [dayOf(leftAtMs), ...withEvents].toSorted().at(-1)!
  return now.nowMs >= unreadableAt(last, now.readableDays)
}
