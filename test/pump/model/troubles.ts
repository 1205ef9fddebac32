import type { Random } from './random.ts'

export const troubleKinds = [
  'down',
  'cursor repeated',
  'cursor cycle',
  'circle',
  'no cursor',
  'endless',
  'too large',
  'window error',
  'cached',
  'zone gone',
  'sink down',
  'sink refuses',
  'not running',
] as const

/** What goes wrong with a zone, or with a sink, for a while. */
export type Trouble = (typeof troubleKinds)[number]

/** What the API lists of a day while it hides the rest, as if that had never been. */
const shrunkenTo = ['nothing', 'the first half', 'the last half', 'four fifths'] as const
export type ShrunkenTo = (typeof shrunkenTo)[number]

interface Shrinking {
  readonly to: ShrunkenTo
  /** Answers hide entries of a listing that is whole: pages stay where they are. Otherwise the listing itself is shorter. */
  readonly isOnPages: boolean
}

interface Window<Kind = Trouble> {
  readonly trouble: Kind
  readonly zone: number
  readonly fromMs: number
  readonly toMs: number
}

const longestShrinkingMs = 11 * 3_600_000

/** Times of trouble of one run, by the API's clock. */
export class Troubles {
  readonly #windows: readonly Window[]
  readonly #shrinkings: readonly Window<Shrinking>[]

  constructor(
    options: { readonly count: number; readonly longestMs: number; readonly shrinkings: number },
    span: { readonly fromMs: number; readonly toMs: number },
    zones: readonly number[],
    random: Random,
  ) {
    const windows = <Kind>(length: number, longestMs: number, pick: () => Kind): Window<Kind>[] =>
      Array.from({ length }, () => {
        const fromMs = random.between(span.fromMs, span.toMs)
        const toMs = Math.min(span.toMs, fromMs + random.between(600_000, longestMs))
        return { trouble: pick(), zone: random.pick(zones), fromMs, toMs }
      })
    this.#windows = windows(options.count, options.longestMs, () => random.pick(troubleKinds))
    this.#shrinkings = windows(options.shrinkings, longestShrinkingMs, () => ({
      to: random.pick(shrunkenTo),
      isOnPages: random.chance(0.5),
    }))
  }

  get count(): number {
    return this.#windows.length + this.#shrinkings.length
  }

  get everShrinks(): boolean {
    return this.#shrinkings.length > 0
  }

  /** How a zone's listing is shorter now than before. */
  shrinking(zone: number, nowMs: number): Shrinking | undefined {
    return this.#shrinkings.find((window) => window.zone === zone && isIn(window, nowMs))?.trouble
  }

  /** What a zone's listing suffers from now. */
  at(zone: number, nowMs: number): Trouble | undefined {
    return this.#windows.find((window) => window.zone === zone && isIn(window, nowMs))?.trouble
  }

  /** Whether anything suffers from it now. */
  has(trouble: Trouble, nowMs: number): boolean {
    return this.#windows.some((window) => window.trouble === trouble && isIn(window, nowMs))
  }
}

function isIn({ fromMs, toMs }: Window<unknown>, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < toMs
}
