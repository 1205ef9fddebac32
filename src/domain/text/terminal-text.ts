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

/** Characters that take two columns; near enough to Unicode's East Asian Width, which JavaScript does not know. */
const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6]/u
const halfWidth = /[\uFF61-\uFFDC]/u
const mark = /[\p{Mn}\p{Me}]/u
const plain = /^[\x20-\x7E]*$/

/** How many columns a text takes on a terminal. Control characters must have been escaped. */
export function textWidth(text: string): number {
  if (plain.test(text)) return text.length
  let width = 0
  for (const character of text) width += characterWidth(character)
  return width
}

function characterWidth(character: string): number {
  if (mark.test(character)) return 0
  return wide.test(character) && !halfWidth.test(character) ? 2 : 1
}

/** The longest beginning of a text that takes at most so many columns. */
function beginning(text: string, width: number): string {
  let [taken, used] = ['', 0]
  for (const character of text) {
    used += characterWidth(character)
    if (used > width) break
    taken += character
  }
  return taken
}

/** The text without trailing spaces; cut with `…` where it takes more columns. */
export function cut(line: string, width: number): string {
  const trimmed = line.trimEnd()
  return textWidth(trimmed) > width ? `${beginning(trimmed, Math.max(1, width - 1))}…` : trimmed
}

/** The text with spaces up to so many columns: after it, or before it. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - textWidth(text)))
  return align === 'right' ? spaces + text : text + spaces
}

export function widestOf(texts: readonly string[]): number {
  let widest = 0
  for (const text of texts) widest = Math.max(widest, textWidth(text))
  return widest
}

/** The text in lines that all begin in the first column. */
export function wrapPlain(text: string, width: number): string[] {
  return wrap(text, '', width, '')
}

/** Wraps a text at spaces, further lines two columns deeper. A word that no line can hold stays whole, to be copied. */
export function wrap(text: string, first: string, width: number, further = `${first}  `): string[] {
  const lines: string[] = []
  let line = first
  for (const word of text.split(' ')) {
    const isFirst = line.trim() === ''
    const fits = textWidth(line) + 1 + textWidth(word) <= width
    const wouldFit = further.length + textWidth(word) <= width
    if (!isFirst && !fits && wouldFit) {
      lines.push(line)
      line = further + word
    } else line = isFirst ? line + word : `${line} ${word}`
  }
  return [...lines, line]
}

/** `182,440`, of a whole number. Without `Intl`, which takes 10 ms of the start. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `1 page`, `3 pages`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `1 page`, `182,440 events`. */
export function countOf(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** `a, b and 3 more`: the first of some names, which are made printable. */
export function firstOf(names: readonly (string | number)[], most: number): string {
  const told = names.slice(0, most).map((name) => printable(String(name), 100))
  const more = names.length - told.length
  return `${told.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** What there is any of: `3,000 missing`, not `0 extra`. */
export function someOf(...counts: (readonly [count: number, what: string])[]): string[] {
  return counts.filter(([count]) => count > 0).map(([count, what]) => `${countText(count)} ${what}`)
}

export function sumOf<Name extends string>(
  items: readonly { readonly [key in Name]?: number | undefined }[],
  name: Name,
): number {
  let sum = 0
  for (const item of items) sum += item[name] ?? 0
  return sum
}

/** `101 (shop)`, or the id alone where the name adds nothing. Escapes the name. */
export function zoneText(id: number, name: string): string {
  return name === '' || name === String(id) ? String(id) : `${id} (${printable(name)})`
}

/** `41 GB`, `512 MB`: rounded down. */
export function sizeText(bytes: number): string {
  const gigabytes = bytes / 1e9
  return gigabytes >= 1 ? `${Math.floor(gigabytes)} GB` : `${Math.floor(bytes / 1e6)} MB`
}
