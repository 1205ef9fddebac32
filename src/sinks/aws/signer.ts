import { AwsV4Signer } from 'aws4fetch'
import { iso } from '../../domain/text/time.ts'
import type { Credentials } from './credentials.ts'

interface Unsigned {
  readonly method: string
  readonly url: string
  /** All of them are signed. */
  readonly headers?: Readonly<Record<string, string>>
  /** SHA-256 of the body as sent. */
  readonly digest: Buffer
  readonly nowMs: number
}

/** Signature Version 4 of AWS in the header of a request. */
export function createSigner(service: string, region: string) {
  /** Derived keys, by day. */
  let cache = new Map<string, ArrayBuffer>()
  return async ({ method, url, headers, digest, nowMs }: Unsigned, credentials: Credentials) => {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    // One entry a day: the keys of former days are not needed any more.
    if (cache.size > 8) cache = new Map()
    const signer = new AwsV4Signer({
      method,
      url,
      headers: { ...headers, 'x-amz-content-sha256': digest.toString('hex') },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service,
      region,
      cache,
      datetime: iso(nowMs).replaceAll(/[:-]|\.\d{3}/g, ''),
    })
    const signed = await signer.sign()
    const search = signer.encodedSearch === '' ? '' : `?${signer.encodedSearch}`
    return {
      /** As it was signed, for services that compare the text; only `s3` takes it so. */
      path: signer.encodedPath + search,
      /** Those that were given and those of the signature. */
      headers: Object.fromEntries(signed.headers) as Readonly<Record<string, string>>,
    }
  }
}
