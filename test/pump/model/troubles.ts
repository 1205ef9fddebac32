import type { Random } from './random.ts'

export const troubleKinds = [
  'down',
  'cursor repeated',
  'cursor cycle',
  'no cursor',
  'endless',
  'too large',
  'window error',
  'zone gone',
  'sink down',
  'sink refuses',
  'not running',
] as const

/** What goes wrong with a zone, or with a sink, for a while. */
export type Trouble = (typeof troubleKinds)[number]

interface Window {
  readonly trouble: Trouble
  readonly zone: number
  readonly fromMs: number
  readonly toMs: number
}

/** Times of trouble of one run, by the API's clock. */
export class Troubles {
  readonly #windows: readonly Window[]

  constructor(
    options: { readonly count: number; readonly longestMs: number },
    span: { readonly fromMs: number; readonly toMs: number },
    zones: readonly number[],
    random: Random,
  ) {
    this.#windows = Array.from({ length: options.count }, () => {
      const fromMs = random.between(span.fromMs, span.toMs)
      const toMs = Math.min(span.toMs, fromMs + random.between(600_000, options.longestMs))
      return { trouble: random.pick(troubleKinds), zone: random.pick(zones), fromMs, toMs }
    })
  }

  get count(): number {
    return this.#windows.length
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

function isIn({ fromMs, toMs }: Window, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < toMs
}
