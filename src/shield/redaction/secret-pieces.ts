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
export function secretPieces(value: string): string[] {
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

export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
