/** What a second reading of text finds that `JSON.parse` has refused. */
type SecondReading =
  /** The same JSON with what was wrong inside its strings escaped, and where the first of that stood. */
  | { readonly json: string; readonly repairedAt: number }
  /** Not JSON: where the first character stands that no JSON has there; the length of the text where it ends too early. */
  | { readonly brokenAt: number }

const space = /[ \t\n\r]*/y
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)/y
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

/** What may come next: a value, a name, either of them or the end of its object or list, or what follows a value. */
type Next = 'value' | 'name' | 'value or end' | 'name or end' | 'colon' | 'rest'

/**
 * Reads JSON text whose strings may hold raw control characters and backslashes that begin no escape, as a service writes
 * them that escapes badly what its clients send. Both are kept as they are, as characters of the string. Nothing else is
 * repaired: any guess about a missing quote or bracket could make other events of what was received. One pass, without
 * recursion; valid JSON is returned unchanged.
 */
export function secondReading(text: string): SecondReading {
  const open: ('{' | '[')[] = []
  const pieces: string[] = []
  let [at, copied, repairedAt] = [0, 0, text.length]
  let next = 'value' as Next

  function matched(pattern: RegExp): boolean {
    pattern.lastIndex = at
    if (!pattern.test(text)) return false
    at = pattern.lastIndex
    return true
  }

  /** Past the string that begins here; false where it does not end. */
  function readString(): boolean {
    for (at++; at < text.length;) {
      const code = text.charCodeAt(at)
      if (code === 0x22) return ++at > 0
      if (code === 0x5c ? matched(escape) : code >= 0x20) {
        if (code !== 0x5c) at++
        continue
      }
      repairedAt = Math.min(repairedAt, at)
      pieces.push(text.slice(copied, at), code === 0x5c ? '\\\\' : escapeOf(code))
      copied = ++at
    }
    return false
  }

  for (;;) {
    matched(space)
    const sign = text[at]
    const within = open.at(-1)
    if (next === 'rest' && within === undefined) {
      if (sign !== undefined) return { brokenAt: at }
      return { json: [...pieces, text.slice(copied)].join(''), repairedAt }
    }
    const mayEnd = next === 'rest' || next === 'value or end' || next === 'name or end'
    if (mayEnd && sign === (within === '{' ? '}' : ']')) {
      open.pop()
      at++
      next = 'rest'
    } else if (next === 'rest') {
      if (sign !== ',') return { brokenAt: at }
      at++
      next = within === '{' ? 'name' : 'value'
    } else if (next === 'colon') {
      if (sign !== ':') return { brokenAt: at }
      at++
      next = 'value'
    } else if (sign === '"') {
      if (!readString()) return { brokenAt: at }
      next = next === 'name' || next === 'name or end' ? 'colon' : 'rest'
    } else if (next === 'name' || next === 'name or end') return { brokenAt: at }
    else if (sign === '{' || sign === '[') {
      open.push(sign)
      at++
      next = sign === '{' ? 'name or end' : 'value or end'
    } else if (matched(scalar)) next = 'rest'
    else return { brokenAt: at }
  }
}

function escapeOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
