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

/** The same text as `JSON.stringify`, with its own stack instead of recursion. */
function deepJsonText(root: unknown): string {
  let text = ''
  const left: Piece[] = [[root]]
  for (let piece = left.pop(); piece !== undefined; piece = left.pop()) {
    if (typeof piece === 'string') text += piece
    else for (const inner of piecesOf(piece[0]).toReversed()) left.push(inner)
  }
  return text
}

/** JSON text, or a value that is still to be written. */
type Piece = string | readonly [value: unknown]

/** One level of a value. */
function piecesOf(value: unknown): Piece[] {
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value) ?? 'null']
  const isList = Array.isArray(value)
  const members = Object.entries(value).filter(([, held]) => isList || held !== undefined)
  const pieces = members.flatMap(([key, held], index): Piece[] => {
    const comma = index === 0 ? '' : ','
    return [isList ? comma : `${comma}${JSON.stringify(key)}:`, [held]]
  })
  return isList ? ['[', ...pieces, ']'] : ['{', ...pieces, '}']
}
