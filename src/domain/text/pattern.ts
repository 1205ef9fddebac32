/**
 * `*` in a pattern stands for any text. Takes time in proportion to the text: attackers choose it, and a regular
 * expression of several `.*` would take its square.
 */
export function matchesPattern(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
