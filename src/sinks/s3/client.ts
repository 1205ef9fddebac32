import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Failure, isFailure } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'
import { type Answer, headerOf, isSuccess } from '../../transport/exchange.ts'
import { isUnsent } from '../../transport/network-failure.ts'
import { createTries } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'
import { credentialsOf, type Credentials } from '../aws/credentials.ts'
import { createSigner } from '../aws/signer.ts'
import { createExchanges } from '../http/exchanges.ts'
import { delivered } from '../http/protocol/preset.ts'
import { masked } from '../http/secrets.ts'
import type { S3SinkConfig } from './config.ts'
import { elementOf, readRefusal, type Right } from './refusals.ts'

/** Of an object, by name without `x-amz-meta-`, lower case; values are plain ASCII. */
export type Metadata = Readonly<Record<string, string>>

export interface ObjectKind {
  readonly contentType: string
  readonly metadata: Metadata
}

/**
 * What a try to create an object came to: `created` on 200 (or 201), `exists` on 412, `unknown` on 409, a reset, and no
 * answer. The caller looks whose object is there.
 */
export type Created = 'created' | 'exists' | 'unknown'

interface Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Empty for the bucket itself. */
  readonly key: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly right: Right
  /** Statuses, besides successes, that the caller expects. */
  readonly expects?: readonly number[]
  readonly maxBytes?: number
}

const maxObjectBytes = 268_435_456

export type S3Deps = Pick<SinkDeps, 'clock' | 'telemetry' | 'version' | 'random'>

export type S3Bucket = ReturnType<typeof createBucket>

/**
 * The objects of one bucket, over the HTTP of the project. It never changes an object: it writes only where no object has
 * the key. Every method throws Failure, with the error of the sink (`stop`) or one that passes (`retry`, `wait`).
 */
export function createBucket(settings: S3SinkConfig, deps: S3Deps) {
  const { bucket, prefix, endpoint, guarantee, storageClass, sse, kmsKeyId } = settings
  const { clock, version } = deps
  const isOnce = guarantee === 'exactly-once'
  const base = baseOf(settings)
  const address = endpoint === null ? `s3://${bucket}/${prefix}` : `${base.href}${prefix}`
  const what = `sink ${settings.name} (${address})`
  const credentials = credentialsOf(settings)
  const sign = createSigner('s3', settings.region ?? 'us-east-1')
  // The address of a bucket of AWS does not name its host.
  const origin = endpoint === null ? undefined : base.origin
  /** The latest that requests were signed with. */
  let current: Credentials | undefined
  const mask = (text: string) => masked(text, Object.values(current ?? {}).map(String))
  const exchanges = createExchanges({ ...settings, what, origin, base, mask }, deps)
  /** AWS verifies it for all, and buckets with Object Lock ask for it; some other services refuse it. */
  let sendsChecksum = endpoint === null

  async function ask(request: Request, signal: AbortSignal): Promise<Answer> {
    const mayTryAgain = createTries(deps)
    for (;;) {
      try {
        return await once(request, signal)
      } catch (error) {
        const isPut = request.method === 'PUT'
        // Whether a PUT without an answer was carried out, its caller must find out.
        const isOpen = isPut && !isFailure(error, 'server_error', 'throttled')
        if (isOpen || !(await mayTryAgain(error, signal))) throw error
        // One with an error may have been, too: then only its condition would keep a second one from writing.
        if (isPut && !isOnce && (await head(request.key, signal)) !== undefined) return inDoubt
      }
    }
  }

  /** One try, and another at once with renewed credentials, or with a checksum, where the answer asks for that. */
  async function once(request: Request, signal: AbortSignal): Promise<Answer> {
    for (let isFirst = true; ; isFirst = false) {
      const used = await credentialsFor(signal)
      const hadChecksum = sendsChecksum
      const { answer, verdict } = await exchange(request, used, signal)
      if (verdict.kind === 'delivered') return answer
      if (verdict.kind === 'stop') {
        sendsChecksum ||= verdict.checksum === true
        const isRenewed = async () => !isDeepStrictEqual(await credentialsFor(signal, used), used)
        if (isFirst && sendsChecksum !== hadChecksum) continue
        if (isFirst && verdict.credentials === true && (await isRenewed())) continue
      }
      throw exchanges.failureOf(verdict, answer)
    }
  }

  async function credentialsFor(signal: AbortSignal, refused?: Credentials): Promise<Credentials> {
    try {
      return (current = await orAborted(credentials(refused), signal))
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled') throw error
      throw new Failure(error.kind, error.code, `${what}: ${error.message}`, error.details)
    }
  }

  function exchange(request: Request, used: Credentials, signal: AbortSignal) {
    const { method, body, right, expects = [] } = request
    const read = (answer: Answer) => {
      const { status } = answer
      const isGood = isSuccess(status)
      const isExpected = isGood || (expects.includes(status) && !isWithoutBucket(answer))
      const verdict = isExpected ? delivered : readRefusal(answer, { bucket, prefix, right })
      return { verdict, bytes: method === 'PUT' && isGood ? (body?.length ?? 0) : 0 }
    }
    return exchanges.counted(() => signed(request, used), read, signal)
  }

  async function signed(
    { method, key, query = '', headers = {}, body, maxBytes }: Request,
    used: Credentials,
  ) {
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest()
    const { origin, pathname } = base
    const path = key === '' ? pathname : pathname + key.split('/').map(encoded).join('/')
    const checksum = body !== undefined &&
      sendsChecksum && { 'x-amz-checksum-sha256': digest.toString('base64') }
    const url = `${origin}${path}${query === '' ? '' : `?${query}`}`
    const nowMs = clock.now()
    const unsigned = { method, url, headers: { ...headers, ...checksum }, digest, nowMs }
    const { headers: given, ...rest } = await sign(unsigned, used)
    const own = { 'user-agent': `shieldlog/${version}` }
    return { ...rest, headers: { ...given, ...own }, origin, method, body, maxBytes }
  }

  /** For an answer that is no error, and yet of no use. */
  function failed({ status }: Answer, why: string, kind: 'stop' | 'retry' = 'stop'): Failure {
    const code = kind === 'stop' ? 'sink_refuses' : 'bad_body'
    return new Failure(kind, code, `${what} answered ${status}: ${why}`)
  }

  /** Undefined where no object has the key; 0 bytes where the service does not say how many. */
  async function head(key: string, signal: AbortSignal) {
    const answer = await ask({ method: 'HEAD', key, right: 's3:GetObject', expects: [404] }, signal)
    if (answer.status === 404) return undefined
    const named = Object.entries(answer.headers).flatMap(([name, value]) =>
      name.startsWith(metadataPrefix) ? [[name.slice(metadataPrefix.length), String(value)] as const] : [],
    )
    const metadata: Metadata = Object.fromEntries(named)
    return { bytes: Number(headerOf(answer, 'content-length') ?? 0), metadata }
  }

  return {
    /** The bucket and prefix, for people. */
    address,
    async create(key: string, body: Buffer, kind: ObjectKind, signal: AbortSignal): Promise<Created> {
      const metadata = Object.entries(kind.metadata)
      const headers = {
        'content-type': kind.contentType,
        ...(isOnce && { 'if-none-match': '*' }),
        ...(storageClass !== null && { 'x-amz-storage-class': storageClass }),
        ...(sse !== null && { 'x-amz-server-side-encryption': sse }),
        ...(kmsKeyId !== null && { 'x-amz-server-side-encryption-aws-kms-key-id': kmsKeyId }),
        ...Object.fromEntries(metadata.map(([name, value]) => [`${metadataPrefix}${name}`, value])),
      }
      const request = {
        method: 'PUT',
        key,
        headers,
        body,
        right: 's3:PutObject',
        expects: [409, 412],
      } as const
      let answer: Answer
      try {
        answer = await ask(request, signal)
      } catch (error) {
        // A service that refuses before it has read the body may close the connection: then the answer is lost.
        if (isFailure(error, 'network', 'timeout') && !isUnsent(error)) return 'unknown'
        throw error
      }
      if (answer.status === 412) return 'exists'
      if (answer.status === 409) return 'unknown'
      if (headerOf(answer, 'etag') === undefined)
        throw failed(answer, 'this is not an answer of S3: check endpoint')
      return 'created'
    },
    head,
    async get(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
      const maxBytes = maxObjectBytes
      const request = { method: 'GET', key, right: 's3:GetObject', expects: [404], maxBytes } as const
      const answer = await ask(request, signal)
      if (answer.status === 404) return undefined
      if (answer.unread === undefined) return answer.body
      throw failed(answer, `object ${key} cannot be read, or is too large`, 'retry')
    },
    /** In order of the keys. */
    async *list(prefix: string, signal: AbortSignal): AsyncGenerator<{ key: string; bytes: number }> {
      const query = new URLSearchParams({ 'list-type': '2', prefix, 'encoding-type': 'url' })
      let after: string | undefined
      do {
        const request = { method: 'GET', key: '', query: query.toString(), right: 's3:ListBucket' } as const
        const answer = await ask(request, signal)
        const xml = answer.body.toString()
        if (!xml.includes('<ListBucketResult'))
          throw failed(answer, 'this is not a listing of S3: check endpoint')
        const isEncoded = elementOf(xml, 'EncodingType') === 'url'
        for (const each of xml.split('<Contents>').slice(1)) {
          const key = elementOf(each, 'Key') ?? ''
          const bytes = Number(elementOf(each, 'Size'))
          yield { key: isEncoded ? decodeURIComponent(key.replaceAll('+', ' ')) : key, bytes }
        }
        const isTruncated = elementOf(xml, 'IsTruncated') === 'true'
        const next = isTruncated ? elementOf(xml, 'NextContinuationToken') : undefined
        if (next !== undefined && next === after) throw failed(answer, 'the listing does not go on', 'retry')
        after = next
        query.set('continuation-token', after ?? '')
      } while (after !== undefined)
    },
    async remove(key: string, signal: AbortSignal): Promise<void> {
      await ask({ method: 'DELETE', key, right: 's3:DeleteObject', expects: [404] }, signal)
    },
    close: () => exchanges.close(),
  }
}

const metadataPrefix = 'x-amz-meta-'
/** As services answer where another write of the key is under way. */
const inDoubt: Answer = { status: 409, headers: {}, body: Buffer.alloc(0) }

function isWithoutBucket({ status, body }: Answer): boolean {
  return status === 404 && elementOf(body.toString(), 'Code') === 'NoSuchBucket'
}

/** Where the keys begin; ends with a slash. */
function baseOf({ bucket, region, endpoint, pathStyle }: S3SinkConfig): URL {
  const domain = region?.startsWith('cn-') === true ? 'amazonaws.com.cn' : 'amazonaws.com'
  const base = new URL(endpoint ?? `https://s3.${region}.${domain}`)
  base.search = ''
  base.pathname = base.pathname.replace(/\/*$/, '/')
  // The certificate of AWS covers no name with further dots.
  if (pathStyle ?? (endpoint !== null || bucket.includes('.'))) base.pathname += `${bucket}/`
  else base.hostname = `${bucket}.${base.hostname}`
  return base
}

function encoded(segment: string): string {
  return encodeURIComponent(segment).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
