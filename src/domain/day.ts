/** A UTC calendar day, `YYYY-MM-DD`. */
export type Day = string & { readonly brand: 'Day' }

export const dayMs = 86_400_000

/** By number since the epoch: the schedule asks for the same few days again for each of thousands of streams. */
const cache = new Map<number, Day>()
const mostCached = 1_000

/** The day that holds an instant (ms since the epoch). */
export function dayOf(atMs: number): Day {
  const number = Math.floor(atMs / dayMs)
  const found = cache.get(number)
  if (found !== undefined) return found
  if (cache.size >= mostCached) cache.clear()
  const day = new Date(atMs).toISOString().slice(0, 10) as Day
  cache.set(number, day)
  return day
}

/** Reads exactly `YYYY-MM-DD`; undefined for impossible dates such as 2026-02-30, too. */
export function parseDay(text: string): Day | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const atMs = Date.parse(text)
  return !Number.isNaN(atMs) && dayOf(atMs) === text ? (text as Day) : undefined
}

export function startOf(day: Day): number {
  return Date.parse(day)
}

/** The first instant after the day. */
export function endOf(day: Day): number {
  return startOf(day) + dayMs
}

export function shiftDay(day: Day, days: number): Day {
  return dayOf(startOf(day) + days * dayMs)
}

export function daysBetween(earlier: Day, later: Day): number {
  return (startOf(later) - startOf(earlier)) / dayMs
}

/** All days from `from` to `to`, both included; empty when `to` lies before `from`. */
export function daysFrom(from: Day, to: Day): Day[] {
  const days: Day[] = []
  for (let startMs = startOf(from); startMs <= startOf(to); startMs += dayMs) days.push(dayOf(startMs))
  return days
}

/** Both included. Ranges of a list are in order, with a day between two of them at least. */
export type DayRange = readonly [from: Day, to: Day]

export function hasDay(ranges: readonly DayRange[], day: Day): boolean {
  return ranges.some(([from, to]) => from <= day && day <= to)
}

export function withDay(ranges: readonly DayRange[], day: Day): readonly DayRange[] {
  if (hasDay(ranges, day)) return ranges
  const left = ranges.find(([, to]) => shiftDay(to, 1) === day)
  const right = ranges.find(([from]) => shiftDay(from, -1) === day)
  const others = ranges.filter((range) => range !== left && range !== right)
  return [...others, [left?.[0] ?? day, right?.[1] ?? day] as const].sort(([a], [b]) => (a < b ? -1 : 1))
}

export function withoutDay(ranges: readonly DayRange[], day: Day): readonly DayRange[] {
  return ranges.flatMap((range) => {
    if (!hasDay([range], day)) return [range]
    const [from, to] = range
    const parts: DayRange[] = [
      [from, shiftDay(day, -1)],
      [shiftDay(day, 1), to],
    ]
    return parts.filter(([first, last]) => first <= last)
  })
}

/** The oldest day that the API still answers for, as seen on `today`. */
export function firstReadable(today: Day, readableDays: number): Day {
  return shiftDay(today, 1 - readableDays)
}

export function unreadableAt(day: Day, readableDays: number): number {
  return startOf(day) + readableDays * dayMs
}
