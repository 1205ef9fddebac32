declare global {
  interface JSON {
    parse(text: string, reviver: Reviver): unknown
    rawJSON(text: string): ExactNumber
    isRawJSON(value: unknown): value is ExactNumber
  }
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

/** A number that JavaScript would not write as it was received. `JSON.stringify` writes this text. */
export interface ExactNumber {
  readonly rawJSON: string
}

/** JSON values as received. Keys such as `__proto__` are plain data in them. */
export type Json =
  null | boolean | number | string | ExactNumber | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** True for a JSON object. A value parsed from JSON text holds JSON values only. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}

/** True for `12345678901234567890`, `1e400`, `-0`, `1.0` and others that JavaScript would write differently. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return JSON.isRawJSON(value)
}

/** A number as it was received; undefined for anything else. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return isExactNumber(value) ? value.rawJSON : undefined
}

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

/** JSON text, or a value that is still to be written. */
type Piece = string | object

/** The same text as `JSON.stringify`, with its own stack instead of recursion. */
function deepJsonText(root: unknown): string {
  let text = ''
  const left = [pieceOf(root)]
  for (let piece = left.pop(); piece !== undefined; piece = left.pop()) {
    if (typeof piece === 'string') text += piece
    else for (const inner of piecesOf(piece).reverse()) left.push(inner)
  }
  return text
}

function pieceOf(value: unknown): Piece {
  const isNested = typeof value === 'object' && value !== null && !isExactNumber(value)
  return isNested ? value : (JSON.stringify(value) ?? 'null')
}

/** One level of an object or a list. */
function piecesOf(value: object): Piece[] {
  const isList = Array.isArray(value)
  const pieces: Piece[] = [isList ? '[' : '{']
  for (const [key, held] of Object.entries(value)) {
    if (held === undefined && !isList) continue
    if (pieces.length > 1) pieces.push(',')
    if (!isList) pieces.push(`${JSON.stringify(key)}:`)
    pieces.push(pieceOf(held))
  }
  return [...pieces, isList ? ']' : '}']
}
