import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export function sha256(body: string | Buffer, encoding: 'hex' | 'base64' = 'hex'): string {
  return createHash('sha256').update(body).digest(encoding)
}

/** Every byte but the unreserved characters of RFC 3986. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function canonicalQuery(query: string): string {
  const pairs = [...new URLSearchParams(query)].map((pair) => pair.map(encoded).join('='))
  return pairs.toSorted((one, other) => (one < other ? -1 : 1)).join('&')
}

/**
 * The signature that AWS documents for a request (Signature Version 4), computed from what came over the wire. S3 signs the
 * path as sent; all other services encode it once more.
 */
export function signatureOf(
  { method, url, headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: Buffer,
  secret: string,
): string {
  const [, scope = '', names = ''] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? []
  const [path = '', query = ''] = url!.split('?')
  const isS3 = scope.includes('/s3/')
  const lines = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [
    method,
    isS3 ? path : path.split('/').map(encoded).join('/'),
    isS3 ? query : canonicalQuery(query),
    lines.join(''),
    names,
    sha256(body),
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const hmac = (key: string | Buffer, part: string) => createHmac('sha256', key).update(part).digest()
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`)
  return hmac(key, text).toString('hex')
}

/** The signature that a request came with. */
export function sentSignature({ headers }: Pick<IncomingMessage, 'headers'>): string {
  return headers.authorization?.split('Signature=')[1] ?? ''
}
