import type { Output } from '../command.ts'
import { wrap } from '../../domain/text/terminal-text.ts'

export interface Paint {
  readonly width: number
  good(text: string): string
  bad(text: string): string
  warn(text: string): string
  dim(text: string): string
}

const narrowest = 60
const widest = 160
const usual = 100
/** Output to a pipe is not cut. */
const piped = 10_000

/** Colours where the terminal has them and NO_COLOR is not set; the line width of the terminal, within limits. */
export function paintFor(output: Output): Paint {
  const hasColors = output.isTTY === true && output.hasColors?.() === true
  const painted = (code: number) => (text: string) => (hasColors ? `\u001B[${code}m${text}\u001B[0m` : text)
  // Some terminals report no size: 0 columns.
  const { columns = 0 } = output
  const terminal = Math.min(widest, Math.max(narrowest, columns === 0 ? usual : columns))
  const width = output.isTTY === true ? terminal : piped
  return { width, good: painted(32), bad: painted(31), warn: painted(33), dim: painted(2) }
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
