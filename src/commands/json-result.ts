/** A result as indented JSON. JSON escapes the controls that would move a terminal, but not all that hides text. */
export function jsonResult(value: unknown): string {
  const text = JSON.stringify(value, null, 2)
  const unsafe = /[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu
  return `${text.replace(unsafe, (found) => escaped(found))}\n`
}

/** As UTF-16 code units: JSON has no longer escape. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}
