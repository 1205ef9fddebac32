import type { Clock } from '../ports/clock.ts'

/**
 * The API's clock, one per account: this host's clock plus the offset of the latest `Date`. Offsets below two seconds
 * are ignored, since `Date` has whole seconds and takes time to arrive. An offset that jumps counts when a second
 * answer confirms it, since one server with a wrong clock must not end a day; a first offset that is far from this
 * host's clock is used at once, and confirmed by a second answer.
 */
export interface ApiClock {
  now(account: string): number
  learn(account: string, offsetMs: number): void
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
  offsetOf(account: string): number
  /** True once the API's time is confirmed; before that, callers decide nothing irrevocable. */
  isConfirmed(account: string): boolean
  /** True while the only known time of the API is far from this host's clock and not confirmed. */
  isDoubtful(account: string): boolean
}

const ignoredOffsetMs = 2_000
const jumpMs = 30_000

export function createApiClock(clock: Clock): ApiClock {
  const confirmed = new Map<string, number>()
  const assumed = new Map<string, number>()
  /** Offsets from one answer that no second answer has confirmed. */
  const doubted = new Map<string, number>()
  const listed = new Set<string>()
  const offsetOf = (account: string) =>
    confirmed.get(account) ?? doubted.get(account) ?? assumed.get(account) ?? 0
  return {
    now: (account) => clock.now() + offsetOf(account),
    learn(account, offsetMs) {
      const isSure = isNear(confirmed.get(account) ?? 0, offsetMs) || isNear(doubted.get(account), offsetMs)
      if (!isSure) {
        doubted.set(account, offsetMs)
        return
      }
      doubted.delete(account)
      confirmed.set(account, Math.abs(offsetMs) < ignoredOffsetMs ? 0 : offsetMs)
    },
    listedToday(account) {
      if (confirmed.has(account) || doubted.has(account)) return
      if (listed.has(account)) confirmed.set(account, 0)
      listed.add(account)
    },
    notBefore(account, instantMs) {
      const behindMs = instantMs - clock.now()
      if (behindMs > (assumed.get(account) ?? 0)) assumed.set(account, behindMs)
    },
    offsetOf,
    isConfirmed: (account) => confirmed.has(account),
    isDoubtful: (account) => doubted.has(account) && !confirmed.has(account),
  }
}

function isNear(known: number | undefined, offsetMs: number): boolean {
  return known !== undefined && Math.abs(known - offsetMs) <= jumpMs
}
