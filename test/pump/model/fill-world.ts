import type { Day } from '../../../src/domain/day.ts'
import { endOf, startOf } from '../../../src/domain/day.ts'
import type { Entry } from './entry.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

export interface Traffic {
  readonly perDay: number
  /** Share of entries that no listing should hold. */
  readonly oddShare: number
}

/** Entries spread over some days; most appear within a minute, some hours late, some are odd. */
export function fillWorld(
  world: World,
  zones: readonly number[],
  days: readonly Day[],
  { perDay, oddShare }: Traffic,
  random: Random,
): void {
  let next = 0
  for (const zone of zones) {
    for (const day of days) {
      for (let index = 0; index < perDay; index++) {
        const entry = anEntry(`e${next++}`, day, random)
        const entries = random.chance(oddShare) ? oddEntries(entry, random) : [entry]
        for (const each of entries) world.add(zone, each)
      }
    }
  }
}

function anEntry(id: string, day: Day, random: Random): Entry {
  const sortMs = startOf(day) + Math.floor(random.next() * 86_399_000)
  const lateMs = random.chance(0.05) ? random.next() * 36 * 3_600_000 : random.next() * 60_000
  const arrivesAtMs = Math.min(sortMs + lateMs, endOf(day) + 40 * 3_600_000)
  return { key: id, id, day, timeMs: sortMs, sortMs, arrivesAtMs, shuffle: random.next() }
}

/**
 * What no listing should hold: an entry without time, one that stands twice, an id that names two events, also at the
 * same time.
 */
function oddEntries(entry: Entry, random: Random): Entry[] {
  const other = { ...entry, key: `${entry.key}b`, shuffle: random.next() }
  const later = Math.min(
    entry.arrivesAtMs + random.pick([0, 0, 60_000, 7_200_000]),
    endOf(entry.day) + 144_000_000,
  )
  return random.pick([
    [{ ...entry, timeMs: undefined }],
    [entry, { ...other, sortMs: entry.sortMs + random.between(0, 3_600_000) }],
    [entry, { ...other, timeMs: entry.sortMs + 1, sortMs: entry.sortMs + 1 }],
    [
      { ...entry, content: 'one' },
      { ...other, content: 'two', arrivesAtMs: later },
    ],
    // A time that has nothing to do with the day.
    [{ ...entry, timeMs: entry.sortMs + random.pick([-1, 1]) * 30 * 86_400_000 }],
  ])
}
