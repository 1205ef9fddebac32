import { expect } from 'vitest'

/** A log stream that keeps whole lines. */
export interface KeptLog {
  write(text: string): void
  readonly isTTY: boolean
  /** Raw text so far. */
  text(): string
  /** JSON lines so far, parsed. */
  lines(): Record<string, unknown>[]
  /** Forgets what was written. */
  clear(): void
}

export function keepLog(isTTY = false): KeptLog {
  let kept = ''
  return {
    isTTY,
    write(text) {
      kept += text
    },
    text: () => kept,
    lines() {
      if (kept !== '' && !kept.endsWith('\n')) throw new Error(`unfinished line: ${kept}`)
      const lines = kept.split('\n').slice(0, -1)
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    },
    clear() {
      kept = ''
    },
  }
}

/** For a field of which only the form is known. */
export function matching(form: RegExp): unknown {
  return expect.stringMatching(form)
}
