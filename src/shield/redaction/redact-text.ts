import { isIP } from 'node:net'

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

/** Shorter texts occur everywhere; masking them would make events unreadable and hide nothing. */
const shortestSecret = 6
/** A request can carry thousands of cookies, and each piece is searched for in every text of its entry. */
const mostPieces = 64

const noSecrets = new Set(['bearer', 'digest', 'negotiate', 'httponly', 'secure', 'partitioned'])
const attributes = new Set(['domain', 'path', 'expires', 'max-age', 'samesite', 'realm', 'algorithm'])

/**
 * Pieces of a redacted value to mask elsewhere: the value itself, and each value in a list such as `sid=abc;
 * theme=dark` or `Bearer abc`, also percent-decoded.
 */
function secretPieces(value: string): string[] {
  const pieces = new Set<string>()
  add(pieces, value.trim())
  for (const part of value.split(/[;,\s]+/)) {
    const equals = part.indexOf('=')
    const name = part.slice(0, Math.max(0, equals)).toLowerCase()
    if (attributes.has(name) || noSecrets.has(part.toLowerCase())) continue
    add(pieces, part)
    if (equals > 0) add(pieces, part.slice(equals + 1).replace(/^"|"$/g, ''))
    if (pieces.size >= mostPieces) break
  }
  return [...pieces]
}

function add(pieces: Set<string>, piece: string): void {
  // The replacement text itself must not be masked again.
  if (piece.length < shortestSecret || '[redacted]'.includes(piece)) return
  pieces.add(piece)
  const decoded = percentDecoded(piece)
  if (decoded !== piece && decoded.length >= shortestSecret) pieces.add(decoded)
}

function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const candidates =
  /(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?![\w:])\*?)/gi

/**
 * Applies `replace` to every IP address in a text. Lookalikes (a time, a version) stay, and so do masked addresses,
 * because a stored event is redacted a second time.
 */
export function replaceAddresses(text: string, replace: (address: string) => string): string {
  return text.replace(candidates, (found) => {
    const address = found.endsWith('*') ? found.slice(0, -1) : found
    if (isIP(address) === 0 || (address !== found && maskAddress(address) === found)) return found
    return replace(address) + found.slice(address.length)
  })
}

/** IPv4 without its last octet (`1.2.3.*`), IPv6 without its last four groups (`2001:db8:0:1::*`). */
export function maskAddress(address: string): string {
  if (isIP(address) === 4) return address.replace(/\d+$/, '*')
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) return `::ffff:${groups[6]! >> 8}.${groups[6]! & 255}.${groups[7]! >> 8}.*`
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::*`
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  // A URL has no dotted groups.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const front = read(head)
  if (tail === undefined) return front
  const back = read(tail)
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back]
}

function read(groups: string): number[] {
  return groups === '' ? [] : groups.split(':').map((group) => Number.parseInt(group, 16))
}
