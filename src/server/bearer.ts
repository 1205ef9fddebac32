import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../domain/text/secret.ts'

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** True when the header carries the token. Compares in constant time, whatever the token's length. */
export function hasToken(header: string | undefined, token: Secret): boolean {
  const given = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
  const wanted = token.reveal()
  return timingSafeEqual(digest(given), digest(wanted)) && wanted !== ''
}
