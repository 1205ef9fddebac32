import type { Clock } from '../ports/process.ts'

/**
 * The API's clock, one per account: the steady clock of this host, which no step of the wall clock moves, plus the offset
 * of the latest `Date`. Offsets below two seconds are ignored, since `Date` has whole seconds and takes time to arrive.
 * An offset that jumps counts when a second answer over another connection confirms it, since one server with a wrong
 * clock must not end a day; a first offset that is far from this host's clock is used at once, and confirmed in the same
 * way. It is forgotten after hours without an answer: by a time that is days behind all days that are planned may have
 * ended, so that no request would be sent that could correct it.
 */
export interface ApiClock {
  now(account: string): number
  /**
   * `offsetMs`: to the steady clock. `connection`: two answers with the same one may come from the same server; an
   * unknown one confirms nothing.
   */
  learn(account: string, offsetMs: number, connection: object | undefined): void
  /**
   * An answer without a `Date` listed the day that is today by this host's clock. The second one confirms this host's
   * clock, unless a `Date` was seen: otherwise an API or a proxy that sends none would leave the time unknown forever,
   * and days that passed unread would be no gaps.
   */
  listedToday(account: string): void
  /**
   * Sets a lower bound of the time: the store holds something that happened at this instant. Counts until the API's
   * time is known: without it, a host whose clock is behind would wait although polls are long due.
   */
  notBefore(account: string, instantMs: number): void
  /** To the steady clock. */
  offsetOf(account: string): number
  /** True once the API's time is confirmed. */
  isConfirmed(account: string): boolean
  /**
   * What cannot be taken back is decided by this time: it has passed by the API's clock and by this host's wall clock,
   * so that one of them may be wrong; where these two disagree, also by the steady clock, so that both may be. Undefined
   * while the API's time is not confirmed, or its latest answer contradicts it.
   */
  sureNow(account: string): number | undefined
}

const ignoredOffsetMs = 2_000
const jumpMs = 30_000
/** The steady clock of a process that began before its host had the right time stays wrong: it counts only in doubt. */
const agreeWithinMs = 600_000
/** Longer than any back-off. */
const forgottenAfterMs = 7_200_000

interface Doubt {
  readonly offsetMs: number
  readonly connection: object | undefined
}

export function createApiClock(clock: Pick<Clock, 'now' | 'steady'>): ApiClock {
  const confirmed = new Map<string, number>()
  const assumed = new Map<string, number>()
  /** The latest answers, where they contradict what is known. */
  const doubted = new Map<string, Doubt>()
  const listed = new Set<string>()
  /** By the steady clock. */
  const heardAtMs = new Map<string, number>()

  function forgetOld(account: string): void {
    const known = confirmed.get(account) ?? doubted.get(account)?.offsetMs
    if (known === undefined || isNear(0, known)) return
    if (clock.steady() - heardAtMs.get(account)! < forgottenAfterMs) return
    confirmed.delete(account)
    doubted.delete(account)
  }

  const offsetOf = (account: string) => {
    forgetOld(account)
    return confirmed.get(account) ?? doubted.get(account)?.offsetMs ?? assumed.get(account) ?? 0
  }
  const isConfirmed = (account: string) => {
    forgetOld(account)
    return confirmed.has(account)
  }
  const now = (account: string) => clock.steady() + offsetOf(account)
  return {
    now,
    learn(account, offsetMs, connection) {
      forgetOld(account)
      heardAtMs.set(account, clock.steady())
      const doubt = doubted.get(account)
      const isRepeated = doubt !== undefined && isNear(doubt.offsetMs, offsetMs)
      const isOther = connection !== undefined && connection !== doubt?.connection
      if (isNear(confirmed.get(account) ?? 0, offsetMs) || (isRepeated && isOther)) {
        doubted.delete(account)
        confirmed.set(account, Math.abs(offsetMs) < ignoredOffsetMs ? 0 : offsetMs)
      } else if (!isRepeated) doubted.set(account, { offsetMs, connection })
    },
    listedToday(account) {
      if (confirmed.has(account) || doubted.has(account)) return
      if (listed.has(account)) confirmed.set(account, 0)
      listed.add(account)
    },
    notBefore(account, instantMs) {
      const behindMs = instantMs - clock.steady()
      if (behindMs > (assumed.get(account) ?? 0)) assumed.set(account, behindMs)
    },
    offsetOf,
    isConfirmed,
    sureNow(account) {
      if (!isConfirmed(account) || doubted.has(account)) return undefined
      const [api, wall] = [now(account), clock.now()]
      return Math.abs(api - wall) <= agreeWithinMs ? Math.min(api, wall) : Math.min(api, wall, clock.steady())
    },
  }
}

function isNear(known: number, offsetMs: number): boolean {
  return Math.abs(known - offsetMs) <= jumpMs
}
