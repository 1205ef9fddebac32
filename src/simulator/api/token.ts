import { hashOf } from '../entries/hash.ts'
import { parseDay, type Day } from '../../domain/day.ts'

/** The content of a token, which is opaque to clients. */
export interface Place {
  readonly zone: number
  readonly day: Day
  readonly kind: 'position' | 'snapshot' | 'anchor'
  /** Entries to skip; with `anchor`, the number of the entry before the page, or -1 for the beginning. */
  readonly at: number
  /** How many entries the snapshot holds; 0 with the other kinds. */
  readonly held: number
  /** Undefined while tokens have no lifetime, so that the same place always has the same token. */
  readonly issuedAtMs: number | undefined
  /** Tokens of an earlier generation have expired. */
  readonly generation: number
  /** Distinguishes two tokens of the same place. */
  readonly nonce: number
}

const kinds = { p: 'position', s: 'snapshot', a: 'anchor' } as const
const hostileShape = /^p\/([\w-]*)=\?%2F([\w-]*)\+ ([\w-]*)&#==$/

export function encodeToken(place: Place, style: 'plain' | 'hostile', seal: number): string {
  const issued = place.issuedAtMs === undefined ? '' : String(Math.floor(place.issuedAtMs))
  const text = [
    place.zone,
    place.day,
    place.kind[0],
    place.at,
    place.held,
    issued,
    place.generation,
    place.nonce,
  ].join('|')
  const plain = Buffer.from(`${text}|${hashOf(`${seal}${text}`)}`).toString('base64url')
  if (style === 'plain') return plain
  const third = Math.ceil(plain.length / 3)
  const [start, middle, end] = [plain.slice(0, third), plain.slice(third, 2 * third), plain.slice(2 * third)]
  // A client that decodes it twice, or leaves any of it unencoded, sends another token.
  return `p/${start}=?%2F${middle}+ ${end}&#==`
}

/** Undefined for a token that was not issued under this seal. */
export function decodeToken(token: string, seal: number): Place | undefined {
  const plain = hostileShape.exec(token)?.slice(1).join('') ?? token
  const text = Buffer.from(plain, 'base64url').toString('utf8')
  const parts = text.split('|')
  const [zone, dayText = '', kindText = '', at, held, issued, generation, nonce, sum] = parts
  const day = parseDay(dayText)
  const kind = kindText === 'p' || kindText === 's' || kindText === 'a' ? kinds[kindText] : undefined
  if (parts.length !== 9 || day === undefined || kind === undefined) return undefined
  if (sum !== String(hashOf(`${seal}${parts.slice(0, -1).join('|')}`))) return undefined
  return {
    zone: Number(zone),
    day,
    kind,
    at: Number(at),
    held: Number(held),
    issuedAtMs: issued === '' ? undefined : Number(issued),
    generation: Number(generation),
    nonce: Number(nonce),
  }
}
