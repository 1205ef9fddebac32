import { type Answer, headerOf } from '../../transport/exchange.ts'

/** As HTTP has it for what is too large. */
const mostAgeSeconds = 2 ** 31
/** `Date` has whole seconds. */
const sameDateMs = 2_000
const mostPolled = 2_000

/** Finds answers that a cache gave in place of the API. */
export class CachedAnswers {
  /** The latest answers to polls, by path, each with when it was made at the earliest. */
  readonly #polled = new Map<string, { of: string; madeAt: number; heardAt: number }>()

  /**
   * How long before the request an answer from a cache was made, at most; 0 for any other. A cache tells the age, in whole
   * seconds. From one that does not, a poll gets the same bytes with the same `Date` again, which a server that answers
   * anew cannot give seconds later. `hash`: of the answer to a poll.
   */
  ageOf(
    answer: Answer,
    path: string,
    hash: string | undefined,
    at: { asked: number; heard: number },
  ): number {
    const seconds = Number(/^\d+$/.exec(headerOf(answer, 'age') ?? '')?.[0] ?? 0)
    if (seconds > 0) return (Math.min(seconds, mostAgeSeconds) + 1) * 1000
    const date = headerOf(answer, 'date')
    if (date === undefined || hash === undefined) return 0
    const of = `${date} ${hash}`
    const before = this.#polled.get(path)
    if (before?.of === of && at.asked - before.heardAt > sameDateMs) return at.asked - before.madeAt
    this.#polled.delete(path)
    this.#polled.set(path, { of, madeAt: at.asked, heardAt: at.heard })
    if (this.#polled.size > mostPolled) this.#polled.delete(this.#polled.keys().next().value!)
    return 0
  }
}

/** What tells who answered in place of the API. */
export function answeredBy(answer: Answer): string {
  const told = ['via', 'x-cache', 'server'].flatMap((name) => {
    const value = headerOf(answer, name)
    return value === undefined ? [] : `${name}: ${value.replace(/[^ -~]/g, '?').slice(0, 80)}`
  })
  return told.join(', ')
}
