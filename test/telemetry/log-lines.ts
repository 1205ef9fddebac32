import { expect } from 'vitest'

/** A log stream that keeps whole lines. */
export function keepLog(isTTY = false) {
  let kept = ''
  return {
    isTTY,
    write(text: string) {
      kept += text
    },
    /** Raw text so far. */
    text: () => kept,
    /** JSON lines so far, parsed. */
    lines() {
      if (kept !== '' && !kept.endsWith('\n')) throw new Error(`unfinished line: ${kept}`)
      const lines = kept.split('\n').slice(0, -1)
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    },
    /** Forgets what was written. */
    clear() {
      kept = ''
    },
  }
}

/** For a field of which only the form is known. */
export function matching(form: RegExp): unknown {
  return expect.stringMatching(form)
}
