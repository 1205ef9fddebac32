import type { Output } from '../io.ts'

export interface Paint {
  readonly width: number
  good(text: string): string
  bad(text: string): string
  dim(text: string): string
}

const narrowest = 60
const widest = 160
const usual = 100
/** What reads a pipe cuts for itself. */
const piped = 10_000

/** Colours where the terminal has them and NO_COLOR does not refuse them; lines as wide as the terminal, within reason. */
export function paintFor(output: Output): Paint {
  const hasColors = output.isTTY === true && output.hasColors?.() === true
  const painted = (code: number) => (text: string) => (hasColors ? `\u001B[${code}m${text}\u001B[0m` : text)
  const terminal = Math.min(widest, Math.max(narrowest, output.columns ?? usual))
  const width = output.isTTY === true ? terminal : piped
  return { width, good: painted(32), bad: painted(31), dim: painted(2) }
}
