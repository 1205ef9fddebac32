import type { Day } from '../domain/day.ts'
import type { Failure } from '../domain/failure.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import type { Clock } from '../ports/process.ts'

export type ApiClock = ReturnType<typeof createApiClock>

const ignoredOffsetMs = 2_000
const jumpMs = 30_000
/** The steady clock of a process that began before its host had the right time stays wrong: it counts only in doubt. */
const agreeWithinMs = 600_000
/** Longer than any back-off. */
const forgottenAfterMs = 7_200_000

/** What is known of an account. Offsets are to the steady clock. */
interface Known {
  confirmedMs?: number | undefined
  /** The latest answer, where it contradicts what is confirmed. */
  doubt?: { readonly offsetMs: number; readonly connection: object | undefined } | undefined
  /** A lower bound until the API has answered. */
  assumedMs?: number
  /** The API has refused the day that is today by what is assumed: the wall clock may have been set right since. */
  byWall?: boolean
  hasListedToday?: boolean
  /** By the steady clock. */
  heardAtMs?: number
}

/**
 * The API's clock, one per account: the steady clock of this host, which no step of the wall clock moves, plus the offset
 * of the latest `Date`. Offsets below two seconds are ignored, since `Date` has whole seconds and takes time to arrive.
 * An offset that jumps counts when a second answer over another connection confirms it, since one server with a wrong
 * clock must not end a day; a first offset that is far from this host's clock is used at once, and confirmed in the same
 * way. It is forgotten after hours without an answer: by a time that is days behind all days that are planned may have
 * ended, so that no request would be sent that could correct it.
 */
export function createApiClock(clock: Pick<Clock, 'now' | 'steady'>) {
  const accounts = new Map<string, Known>()

  /** Forgets an offset that is too old. */
  function knownOf(account: string): Known {
    const held = accounts.get(account) ?? {}
    accounts.set(account, held)
    const { confirmedMs, doubt, heardAtMs = 0 } = held
    const isFar = !isNear(0, confirmedMs ?? doubt?.offsetMs ?? 0)
    if (isFar && clock.steady() - heardAtMs >= forgottenAfterMs) held.confirmedMs = held.doubt = undefined
    return held
  }

  const wallOffset = () => clock.now() - clock.steady()
  const isToday = (day: Day, offsetMs: number) => day === todayOf(clock.steady() + offsetMs)
  const offsetOf = (account: string) => {
    const { confirmedMs, doubt, byWall = false, assumedMs = 0 } = knownOf(account)
    return confirmedMs ?? doubt?.offsetMs ?? (byWall ? wallOffset() : assumedMs)
  }
  const now = (account: string) => clock.steady() + offsetOf(account)

  function learn(account: string, offsetMs: number, connection: object | undefined): void {
    const held = knownOf(account)
    const { doubt } = held
    held.heardAtMs = clock.steady()
    const isRepeated = doubt !== undefined && isNear(doubt.offsetMs, offsetMs)
    const isOther = connection !== undefined && connection !== doubt?.connection
    if (isNear(held.confirmedMs ?? 0, offsetMs) || (isRepeated && isOther)) {
      held.doubt = undefined
      held.confirmedMs = Math.abs(offsetMs) < ignoredOffsetMs ? 0 : offsetMs
    } else if (!isRepeated) held.doubt = { offsetMs, connection }
  }

  return {
    now,
    /** To the steady clock. */
    offsetOf,
    /** The earlier of the API's time, also if it is not confirmed, and of the wall clock's; undefined before it is known. */
    earliest(account: string): number | undefined {
      const { confirmedMs, doubt } = knownOf(account)
      return confirmedMs === undefined && doubt === undefined
        ? undefined
        : Math.min(now(account), clock.now())
    },
    isConfirmed: (account: string) => knownOf(account).confirmedMs !== undefined,
    /**
     * `offsetMs`: to the steady clock. `connection`: two answers with the same one may come from the same server; an
     * unknown one confirms nothing.
     */
    learn,
    /**
     * An error answer carries the API's time as a page does. One without, that refuses the day which is today by what is
     * assumed, shows that this is wrong, while no `Date` was heard: the wall clock counts then, and what was assumed again
     * where the wall clock's day is refused too.
     */
    learnFrom(account: string, day: Day, { code, details: { serverDate, connection } }: Failure): void {
      if (serverDate !== undefined) return learn(account, serverDate - clock.steady(), connection)
      const held = knownOf(account)
      const { confirmedMs, doubt, byWall = false, assumedMs = 0 } = held
      if (code !== 'window_closed' || confirmedMs !== undefined || doubt !== undefined) return
      if (!isToday(day, offsetOf(account))) return
      held.byWall = !byWall || isToday(day, assumedMs)
      held.hasListedToday = false
    },
    /**
     * An answer without a `Date` listed this day. The second one that lists today by this host's clock confirms that clock,
     * unless a `Date` was seen: otherwise an API or a proxy that sends none would leave the time unknown forever, and days
     * that passed unread would be no gaps.
     */
    listed(account: string, day: Day): void {
      const held = knownOf(account)
      held.heardAtMs = clock.steady()
      if (held.confirmedMs !== undefined || held.doubt !== undefined) return
      const offsetMs = held.byWall === true ? wallOffset() : 0
      if (!isToday(day, offsetMs)) return
      if (held.hasListedToday === true) held.confirmedMs = offsetMs
      held.hasListedToday = true
    },
    /**
     * Sets a lower bound of the time: the store holds something that happened at this instant. Counts until the API's
     * time is known, or the API refuses what is today by it: without it, a host whose clock is behind would wait although
     * polls are long due.
     */
    notBefore(account: string, instantMs: number): void {
      const held = knownOf(account)
      held.assumedMs = Math.max(held.assumedMs ?? 0, instantMs - clock.steady())
    },
    /**
     * What cannot be taken back is decided by this time: it has passed by the API's clock and by this host's wall clock,
     * so that one of them may be wrong; where these two disagree, also by the steady clock, so that both may be. Undefined
     * while the API's time is not confirmed, or its latest answer contradicts it.
     */
    sureNow(account: string): number | undefined {
      const { confirmedMs, doubt } = knownOf(account)
      if (confirmedMs === undefined || doubt !== undefined) return undefined
      const [api, wall] = [now(account), clock.now()]
      return Math.abs(api - wall) <= agreeWithinMs ? Math.min(api, wall) : Math.min(api, wall, clock.steady())
    },
  }
}

function isNear(before: number, offsetMs: number): boolean {
  return Math.abs(before - offsetMs) <= jumpMs
}
