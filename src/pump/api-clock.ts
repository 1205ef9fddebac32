import type { Clock } from '../ports/clock.ts'

/**
 * The API's clock, one an account: this host's clock corrected by the offset to the latest `Date`. Offsets below two
 * seconds are left out, since `Date` has whole seconds and travels. An offset that jumps is believed when a second
 * answer tells the same, since one destination with a wrong clock must not end a day; a first one that is far from this
 * host's clock is used at once, and confirmed by a second.
 */
export interface ApiClock {
  now(account: string): number
  learn(account: string, offsetMs: number): void
  /**
   * Something that the store holds happened at this instant, so it cannot be earlier now. Counts until the API tells
   * its time: without it a host clock that is behind would wait for polls that are long due.
   */
  notBefore(account: string, instantMs: number): void
  offsetOf(account: string): number
  /** True once the API has told its time for sure; before that nothing irrevocable is decided. */
  isConfirmed(account: string): boolean
  /** True while the only time that the API has told is far from this host's, and nothing confirms it. */
  isDoubtful(account: string): boolean
}

const ignoredOffsetMs = 2_000
const jumpMs = 30_000

export function createApiClock(clock: Clock): ApiClock {
  const confirmed = new Map<string, number>()
  const assumed = new Map<string, number>()
  /** What one answer told and no second one has confirmed. */
  const doubted = new Map<string, number>()
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
