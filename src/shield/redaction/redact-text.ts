import { percentDecoded, secretPieces } from './secret-pieces.ts'

export const redacted = '[redacted]'

/** Secret text, to mask everywhere in the same entry → its replacement. */
export type Found = Map<string, string>

export function remember(found: Found, value: string): void {
  for (const piece of secretPieces(value)) found.set(piece, redacted)
}

/** Masks the values of query parameters in any text, however their names are encoded. */
export function redactQuery(text: string, names: ReadonlySet<string>, found: Found): string {
  if (names.size === 0 || !text.includes('=')) return text
  // A value may hold further parameters (`?next=?token=…`): the pattern matches names only, and a listed name then
  // takes the value after it.
  const named = /(?:^|[?&;\s"'(<])([^?&;\s"'(<>=#]+)=/g
  const valueEnd = /[&;\s"'<>#]/g
  const parts: string[] = []
  let from = 0
  for (let match = named.exec(text); match !== null; match = named.exec(text)) {
    if (!names.has(plainName(match[1]!))) continue
    valueEnd.lastIndex = named.lastIndex
    const end = valueEnd.exec(text)?.index ?? text.length
    if (end === named.lastIndex) continue
    remember(found, text.slice(named.lastIndex, end))
    parts.push(text.slice(from, named.lastIndex), redacted)
    from = end
    named.lastIndex = from
  }
  return from === 0 ? text : parts.join('') + text.slice(from)
}

function plainName(name: string): string {
  return percentDecoded(name.replaceAll('+', ' '))
    .replace(/\[[^\]]*\]$/, '')
    .toLowerCase()
}

/**
 * Matches `<name>: value` and similar forms (`name=value`, truncated JSON, a list of `Name` and `Value`) in
 * unstructured text. A name may follow an escaped line break, as in a text inside JSON that was cut. A quoted value ends
 * at its quote, any other at the end of its line. Undefined without names.
 */
export function linePattern(names: Iterable<string>): RegExp | undefined {
  const alternatives = [...names].map((name) => name.trim().replace(/[^\w-]/g, String.raw`\$&`)).join('|')
  if (alternatives === '') return undefined
  const quote = String.raw`\\*["']?`
  const between = String.raw`${quote}\s*(?:[:=]|,\s*${quote}value${quote}\s*:)\s*`
  return new RegExp(
    String.raw`(?:(?<![\w-])|(?<=\\[nrt]))((?:${alternatives})${between})("(?:[^"\\]|\\.)*"?|[^\r\n]*)`,
    'gis',
  )
}

export function redactLines(text: string, pattern: RegExp | undefined, found: Found): string {
  if (pattern === undefined) return text
  return text.replace(pattern, (whole, before: string, value: string) => {
    const isQuoted = value.startsWith('"')
    const plain = isQuoted ? value.slice(1).replace(/"$/, '') : value
    if (plain.trim() === '') return whole
    remember(found, plain)
    return isQuoted ? `${before}"${redacted}"` : `${before}${redacted}`
  })
}
