/**
 * JSON text of a value that came from JSON. `JSON.stringify` recurses and throws at a few thousand levels, which
 * `JSON.parse` accepts: without the fallback one deeply nested entry would make its stream fail forever.
 */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return deepJsonText(value)
  }
}

/** Characters that JSON does not escape although they control a terminal, or hide or reorder text there. */
const unseen = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

/** The same JSON, safe to print on a terminal. The characters occur only in JSON strings, which have escapes. */
export function inertJson(json: string): string {
  // Of ASCII text only DEL is such a character; a status of a large fleet is megabytes of it.
  const isAscii = Buffer.byteLength(json) === json.length
  return isAscii && !json.includes('\u007f') ? json : json.replace(unseen, escaped)
}

/** As UTF-16 code units: JSON has no longer escape. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}

const lineEnds = ['\u0085', '\u2028', '\u2029'] as const

/** The same JSON on one line for every reader: some readers end a line at these three, which JSON does not escape. */
export function oneLineJson(json: string): string {
  // Checked one by one: ten times faster than a pattern, and nearly every line holds none.
  return lineEnds.some((end) => json.includes(end)) ? json.replace(/[\u0085\u2028\u2029]/g, escaped) : json
}

interface Open {
  readonly close: ']' | '}'
  readonly keys: readonly string[] | undefined
  readonly values: readonly unknown[]
  index: number
}

/** The same text as `JSON.stringify`, with its own stack instead of recursion. */
function deepJsonText(root: unknown): string {
  const parts: string[] = []
  const stack: Open[] = []
  write(root, parts, stack)
  for (let open = stack.at(-1); open !== undefined; open = stack.at(-1)) {
    if (open.index === open.values.length) {
      parts.push(open.close)
      stack.pop()
      continue
    }
    const index = open.index++
    if (index > 0) parts.push(',')
    if (open.keys !== undefined) parts.push(JSON.stringify(open.keys[index]), ':')
    write(open.values[index], parts, stack)
  }
  return parts.join('')
}

function write(value: unknown, parts: string[], stack: Open[]): void {
  if (typeof value !== 'object' || value === null) {
    parts.push(JSON.stringify(value) ?? 'null')
    return
  }
  if (Array.isArray(value)) {
    parts.push('[')
    stack.push({ close: ']', keys: undefined, values: value, index: 0 })
    return
  }
  const entries = Object.entries(value).filter(([, held]) => held !== undefined)
  parts.push('{')
  stack.push({
    close: '}',
    keys: entries.map(([key]) => key),
    values: entries.map(([, held]: [string, unknown]) => held),
    index: 0,
  })
}
