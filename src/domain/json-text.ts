/**
 * JSON text of a value that came from JSON. `JSON.stringify` recurses and gives up a few thousand levels down, where
 * `JSON.parse` does not: without the second way one deeply nested entry would fail its stream for good.
 */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return deepJsonText(value)
  }
}

interface Open {
  readonly close: ']' | '}'
  readonly keys: readonly string[] | undefined
  readonly values: readonly unknown[]
  index: number
}

/** The same text as `JSON.stringify`, with a stack of its own. */
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
