import { endOf, startOf, type Day } from '../../domain/day.ts'
import type { Backfilled } from '../../domain/plan/backfill.ts'
import type { Stream } from '../../domain/stream.ts'

export interface AgeLimits {
  /** Age from which on a sink's destination takes no event; undefined where it takes any. */
  readonly maxAgeHoursOf: (sink: string) => number | undefined
}

/** A day whose events before a time (ms since the epoch) are too old for the destination of a sink. */
export interface PartlyTooOld {
  readonly day: Day
  readonly sink: string
  readonly hours: number
  readonly beforeMs: number
}

const hourMs = 3_600_000

/** Why the destination would take no event of a day; undefined where it takes some. */
export function tooOldFor(
  { day, sink }: Pick<Stream, 'day' | 'sink'>,
  nowMs: number,
  { maxAgeHoursOf }: AgeLimits,
): string | undefined {
  const hours = maxAgeHoursOf(sink)
  if (hours === undefined || endOf(day) > nowMs - hours * hourMs) return undefined
  return `its events are too old for the destination, which takes none older than ${hours} h (batch.maxAgeHours)`
}

/** Each day and sink once, whatever the number of zones. The age counts from now; when events are sent they are older. */
export function partlyTooOld(
  streams: readonly Backfilled[],
  nowMs: number,
  { maxAgeHoursOf }: AgeLimits,
): PartlyTooOld[] {
  const queued = streams.filter(({ state }) => state === 'queued').map(({ stream }) => stream)
  const routes = new Map(queued.map(({ day, sink }) => [`${day} ${sink}`, { day, sink }]))
  const cut = [...routes.values()].flatMap(({ day, sink }) => {
    const hours = maxAgeHoursOf(sink)
    if (hours === undefined) return []
    const beforeMs = nowMs - hours * hourMs
    return beforeMs > startOf(day) && beforeMs < endOf(day) ? [{ day, sink, hours, beforeMs }] : []
  })
  return cut.sort((left, right) => left.beforeMs - right.beforeMs)
}
