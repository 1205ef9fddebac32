import { UTCDateMini } from '@date-fns/utc/date/mini'
import { formatISO } from 'date-fns/formatISO'

/** A UTC calendar day, `YYYY-MM-DD`. */
export type Day = string & { readonly brand: 'Day' }

export const dayMs = 86_400_000

/** Bound of the two caches: the schedule converts the same few days again for each of hundreds of zones. */
const mostKept = 1_000
const daysByNumber = new Map<number, Day>()
const startsByDay = new Map<Day, number>()

/** The day that holds an instant (ms since the epoch). */
export function dayOf(atMs: number): Day {
  return kept(daysByNumber, Math.floor(atMs / dayMs), () => {
    return formatISO(new UTCDateMini(atMs), { representation: 'date' }) as Day
  })
}

function kept<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key)
  if (found !== undefined) return found
  const made = make()
  if (known.size >= mostKept) known.clear()
  known.set(key, made)
  return made
}

/** Reads exactly `YYYY-MM-DD`; undefined for impossible dates such as 2026-02-30, too. */
export function parseDay(text: string): Day | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const atMs = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(atMs) && dayOf(atMs) === text ? (text as Day) : undefined
}

/** ms since the epoch. */
export function startOf(day: Day): number {
  return kept(startsByDay, day, () => Date.parse(`${day}T00:00:00.000Z`))
}

/** The first instant after the day. */
export function endOf(day: Day): number {
  return startOf(day) + dayMs
}

export function shiftDay(day: Day, days: number): Day {
  return dayOf(startOf(day) + days * dayMs)
}

/** How many days `later` lies after `earlier`; negative when it lies before. */
export function daysBetween(earlier: Day, later: Day): number {
  return (startOf(later) - startOf(earlier)) / dayMs
}

/** All days from `from` to `to`, both included; empty when `to` lies before `from`. */
export function daysFrom(from: Day, to: Day): Day[] {
  const days: Day[] = []
  for (let startMs = startOf(from); startMs <= startOf(to); startMs += dayMs) days.push(dayOf(startMs))
  return days
}

/** The oldest day that the API still answers for, as seen on `today`. */
export function firstReadable(today: Day, readableDays: number): Day {
  return shiftDay(today, 1 - readableDays)
}

export function unreadableAt(day: Day, readableDays: number): number {
  return startOf(day) + readableDays * dayMs
}
