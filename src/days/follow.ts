import { dayOf, shiftDay, startOf, type Day } from '../domain/day.ts'
import type { Event } from '../domain/event/event.ts'
import { FingerprintSet } from '../domain/event/seen.ts'
import type { Zone } from '../domain/stream.ts'
import type { Cursor, PageContent } from '../domain/scan/page.ts'
import { isFailure } from '../domain/failure.ts'
import { readDay, type ReadDeps } from './read-day.ts'

/** Events of a day may be listed after its end. */
const lateMs = 10 * 60_000

/** Of the events of a day; at most 32 bytes each. */
const mostRemembered = 200_000

/** Where a listing shows its new events, as its first page with several times suggests. */
type Order = 'unknown' | 'oldest-first' | 'newest-first' | 'unordered'

class FollowedDay {
  order: Order = 'unknown'
  /** Opens the last page that was read. */
  last: Cursor | null = null
  hasBegun = false
  #shown = new FingerprintSet()
  #newestMs = -Infinity
  /** What is not newer counts as shown. */
  #shownUntilMs = -Infinity

  isNew = ({ fingerprint, timeMs = -Infinity }: Event): boolean => {
    if (this.#shownUntilMs !== -Infinity && timeMs <= this.#shownUntilMs) return false
    this.#newestMs = Math.max(this.#newestMs, timeMs)
    if (this.#shown.size >= mostRemembered) {
      this.#shown = new FingerprintSet()
      this.#shownUntilMs = this.#newestMs
    }
    return this.#shown.add(fingerprint)
  }
}

/**
 * Reads what is new in a zone, across midnight, for a reader without state. The order of a listing decides only how many
 * pages it requests: oldest-first it continues at the last page, newest-first it ends at a page without a new event (of
 * the first poll, after one page), else it reads all pages again.
 */
export function createFollower(zone: Zone, deps: ReadDeps, wants: (event: Event) => boolean = () => true) {
  const followedDays = new Map<Day, FollowedDay>()
  let kept: readonly Event[] = []

  async function read(day: Day, followed: FollowedDay, most: number, signal: AbortSignal): Promise<void> {
    const from = followed.order === 'oldest-first' ? followed.last : null
    let opened = from
    for await (const page of readDay({ zone, day, from }, deps, signal)) {
      const unseen = page.events.filter(followed.isNew)
      const found = [...kept, ...unseen.filter(wants)].sort(byTime)
      // A day may have millions.
      kept = found.slice(Math.max(0, found.length - most))
      if (followed.order === 'unknown') followed.order = orderOf(page)
      followed.last = opened
      opened = page.next
      if (followed.order === 'newest-first' && (!followed.hasBegun || unseen.length === 0)) break
    }
    followed.hasBegun = true
  }

  return {
    /** By time; of more than `most` the newest. Throws the Failures of a reading; the next call returns what it found. */
    async poll(signal: AbortSignal, most = Infinity): Promise<readonly Event[]> {
      const days = daysAt(deps.apiClock.now(zone.account))
      for (const day of followedDays.keys()) if (!days.includes(day)) followedDays.delete(day)
      for (const day of days) {
        const followed = followedDays.get(day) ?? new FollowedDay()
        followedDays.set(day, followed)
        await read(day, followed, most, signal).catch((error: unknown) => {
          if (!isFailure(error, 'cursor_expired') || followed.last === null) throw error
          followed.last = null
          return read(day, followed, most, signal)
        })
      }
      const found = kept
      kept = []
      return found
    },
  }
}

export type Follower = ReturnType<typeof createFollower>

export const byTime = (one: Event, other: Event) => (one.timeMs ?? 0) - (other.timeMs ?? 0)

/** Today, and yesterday while its last events may still come. */
function daysAt(nowMs: number): Day[] {
  const today = dayOf(nowMs)
  return nowMs - startOf(today) < lateMs ? [shiftDay(today, -1), today] : [today]
}

/** The order that the times of a page suggest. */
export function orderOf({ events }: Pick<PageContent, 'events'>): Order {
  const times = events.flatMap(({ timeMs }) => timeMs ?? [])
  if (new Set(times).size < 2) return 'unknown'
  const isEach = (inOrder: (before: number, after: number) => boolean) =>
    times.every((time, index) => index === 0 || inOrder(times[index - 1]!, time))
  if (isEach((before, after) => before <= after)) return 'oldest-first'
  return isEach((before, after) => before >= after) ? 'newest-first' : 'unordered'
}
