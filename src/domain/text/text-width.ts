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
export function beginning(text: string, width: number): string {
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

/** Columns that the widest of the texts takes. */
export function widestOf(texts: readonly string[]): number {
  let widest = 0
  for (const text of texts) widest = Math.max(widest, textWidth(text))
  return widest
}
