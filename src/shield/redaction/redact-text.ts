import { percentDecoded, secretPieces } from './secret-pieces.ts'

export const redacted = '[redacted]'

/** Text that must not show elsewhere in the same entry → what stands for it. */
export type Found = Map<string, string>

export function remember(found: Found, value: string): void {
  for (const piece of secretPieces(value)) found.set(piece, redacted)
}

/** Masks the values of query parameters in any text, whichever way their names are encoded. */
export function redactQuery(text: string, names: ReadonlySet<string>, found: Found): string {
  if (names.size === 0 || !text.includes('=')) return text
  // A value may hold further parameters (`?next=?token=…`), so only names are matched, and values taken where wanted.
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
 * For text without structure: a pattern of `<name>: value` and its relatives (`name=value`, JSON cut short, a list of
 * `Name` and `Value`). A quoted value ends at its quote, any other one at the end of its line. Undefined without names.
 */
export function linePattern(names: Iterable<string>): RegExp | undefined {
  const alternatives = [...names].map((name) => name.trim().replace(/[^\w-]/g, String.raw`\$&`)).join('|')
  if (alternatives === '') return undefined
  const quote = String.raw`\\*["']?`
  const between = String.raw`${quote}\s*(?:[:=]|,\s*${quote}value${quote}\s*:)\s*`
  return new RegExp(String.raw`(?<![\w-])((?:${alternatives})${between})("(?:[^"\\]|\\.)*"?|[^\r\n]*)`, 'gis')
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
