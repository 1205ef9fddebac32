import { countText } from '../../domain/text/counts.ts'
import { wrap } from '../../domain/text/terminal-text.ts'
import { inertJson } from '../../domain/text/json-text.ts'
import type { Output } from '../command.ts'

// Made at the first use: it takes 10 ms of the start.
let compact: Intl.NumberFormat | undefined

/** `1.2 M`. */
export function aboutText(count: number): string {
  compact ??= new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
  return compact.format(count).replace(/(?<=\d)(?=[A-Z])/, ' ')
}

type Counts = readonly (readonly [count: number, what: string])[]

/** What there is any of, in plain digits, for lines that also go into logs: `3000 missing`, not `0 extra`. */
export function plainSomeOf(...counts: Counts): string[] {
  return counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
}

/** A result as indented JSON, with terminal control characters escaped. */
export function jsonResult(value: unknown): string {
  return `${inertJson(JSON.stringify(value, null, 2))}\n`
}

export interface Paint {
  readonly width: number
  /** Lines of the terminal; Infinity in a pipe. */
  readonly rows: number
  /** Not a terminal: no bars, no cuts, plain digits. */
  readonly isPiped: boolean
  /** `182,440`, and in a pipe `182440`. */
  count(count: number): string
  good(text: string): string
  bad(text: string): string
  warn(text: string): string
  dim(text: string): string
}

const narrowest = 60
const widest = 160
const usual = 100
const usualRows = 24
/** Output to a pipe is not cut. */
const piped = 10_000

/** Colours where the terminal has them and NO_COLOR is not set; the line width of the terminal, within limits. */
export function paintFor(output: Output): Paint {
  const hasColors = output.isTTY === true && output.hasColors?.() === true
  const painted = (code: number) => (text: string) => (hasColors ? `\u001B[${code}m${text}\u001B[0m` : text)
  // Some terminals report no size: 0 columns.
  const { columns = 0 } = output
  const terminal = Math.min(widest, Math.max(narrowest, columns === 0 ? usual : columns))
  const isPiped = output.isTTY !== true
  return {
    width: isPiped ? piped : terminal,
    rows: isPiped ? Infinity : (output.rows ?? usualRows),
    isPiped,
    count: isPiped ? String : countText,
    good: painted(32),
    bad: painted(31),
    warn: painted(33),
    dim: painted(2),
  }
}

/** The text, wrapped at words on a terminal; unchanged elsewhere, so that scripts find an error on one line. */
export function wrapped(message: string, output: Output): string {
  if (output.isTTY !== true) return message
  const { width } = paintFor(output)
  const lines = message
    .split('\n')
    .flatMap((line) => wrap(line.trimStart(), /^ */.exec(line)?.[0] ?? '', width))
  return lines.join('\n')
}
