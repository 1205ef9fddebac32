/**
 * Makes text from the wire or a file safe to print: on one line, without control characters, terminal escapes and
 * characters that reorder or hide text. JSON escapes some of these, a terminal none.
 */

/** Controls, invisible format characters (bidi overrides, zero width), halves of surrogate pairs, line separators. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const shortForms: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const longestMessage = 2000

function escapeOf(character: string): string {
  const short = shortForms[character]
  if (short !== undefined) return short
  const code = character.codePointAt(0)!.toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}

/** The text on one line, cut with `…` after `longest` characters. */
export function printable(text: string, longest = longestMessage): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text
  return cut.replace(unsafe, escapeOf)
}
