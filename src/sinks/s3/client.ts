import { createHash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { RequestOutcome } from '../../domain/internal-event.ts'
import { orAborted } from '../../domain/promises.ts'
import { createDispatcher } from '../../transport/dispatcher.ts'
import { isUnsent } from '../../transport/network-failure.ts'
import { backoffMs } from '../../transport/retry.ts'
import type { SinkDeps } from '../deps.ts'
import { credentialsOf, type Credentials, type CredentialSource } from '../aws/credentials.ts'
import { createSigner, type Sign } from '../aws/signer.ts'
import { answerTo, inSlot } from '../http/answer-to.ts'
import { excerptOf, headerOf, notBefore, retryAtOf } from '../http/answer-texts.ts'
import type { Answer } from '../http/protocol/preset.ts'
import { masking } from '../http/secrets.ts'
import { createSlots } from '../slots.ts'
import type { Bucket, Metadata } from './bucket.ts'
import type { S3SinkConfig } from './config.ts'
import { readRefusal, type Refusal, type Right } from './refusals.ts'
import { elementOf } from './xml.ts'

/** What a try to create an object came to; `unknown`: contended, or no answer. */
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

const connections = 10
const maxTries = 3
const tryWindowMs = 10_000
const maxRestMs = 2_000
const backoff = { baseMs: 500, maxMs: 4_000 }
const maxObjectBytes = 268_435_456
const rangeBytes = 4_194_304

export type S3Deps = Pick<SinkDeps, 'clock' | 'telemetry' | 'version' | 'random'>

interface ObjectKind {
  readonly contentType: string
  readonly metadata: Metadata
}

/** The objects of one bucket, over the HTTP of the project. */
export class S3Bucket implements Bucket {
  readonly address: string
  readonly #settings: S3SinkConfig
  readonly #deps: S3Deps
  readonly #what: string
  readonly #base: URL
  readonly #dispatcher: Dispatcher
  readonly #credentials: CredentialSource
  readonly #sign: Sign
  readonly #slots = createSlots(connections)
  /** The latest that requests were signed with. */
  #current: Credentials | undefined
  /** AWS verifies it for all, and buckets with Object Lock ask for it; some other services refuse it. */
  #sendsChecksum: boolean

  constructor(settings: S3SinkConfig, deps: S3Deps) {
    this.#settings = settings
    this.#deps = deps
    this.#base = baseOf(settings)
    this.#sendsChecksum = settings.endpoint === null
    const { bucket, prefix } = settings
    this.address = settings.endpoint === null ? `s3://${bucket}/${prefix}` : `${this.#base.href}${prefix}`
    this.#what = `sink ${settings.name} (${this.address})`
    this.#credentials = credentialsOf(settings)
    this.#sign = createSigner('s3', settings.region ?? 'us-east-1')
    this.#dispatcher = createDispatcher({ tls: settings.tls, connections })
  }

  async create(key: string, body: Buffer, kind: ObjectKind, signal: AbortSignal) {
    const created = await this.tryCreate(key, body, kind, signal)
    return created === 'created' ? created : 'not-created'
  }

  async tryCreate(key: string, body: Buffer, kind: ObjectKind, signal: AbortSignal): Promise<Created> {
    const { guarantee, storageClass, sse, kmsKeyId } = this.#settings
    const headers = {
      'content-type': kind.contentType,
      ...(guarantee === 'exactly-once' && { 'if-none-match': '*' }),
      ...(storageClass !== null && { 'x-amz-storage-class': storageClass }),
      ...(sse !== null && { 'x-amz-server-side-encryption': sse }),
      ...(kmsKeyId !== null && { 'x-amz-server-side-encryption-aws-kms-key-id': kmsKeyId }),
      ...Object.fromEntries(
        Object.entries(kind.metadata).map(([name, value]) => [`x-amz-meta-${name}`, value]),
      ),
    }
    const request = { method: 'PUT', key, headers, body, right: 's3:PutObject', expects: [409, 412] } as const
    let answer: Answer
    try {
      answer = await this.#request(request, signal)
    } catch (error) {
      // A service that refuses before it has read the body may close the connection: then the answer is lost.
      const isUnknown =
        isFailure(error) && (error.code === 'network' || error.code === 'timeout') && !isUnsent(error)
      if (isUnknown && error.kind === 'retry') return 'unknown'
      throw error
    }
    if (answer.status === 412) return 'exists'
    if (answer.status === 409) return 'unknown'
    if (headerOf(answer, 'etag') === undefined)
      throw this.#failed('stop', 'sink_refuses', answer, '', 'this is not an answer of S3: check endpoint')
    return 'created'
  }

  async head(key: string, signal: AbortSignal) {
    const answer = await this.#request({ method: 'HEAD', key, right: 's3:GetObject', expects: [404] }, signal)
    if (answer.status === 404) return undefined
    const metadata = Object.entries(answer.headers).flatMap(([name, value]) =>
      name.startsWith('x-amz-meta-') ? [[name.slice(11), String(value)] as const] : [],
    )
    return { bytes: Number(headerOf(answer, 'content-length') ?? 0), metadata: Object.fromEntries(metadata) }
  }

  async get(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
    const maxBytes = maxObjectBytes
    const request = { method: 'GET', key, right: 's3:GetObject', expects: [404], maxBytes } as const
    const answer = await this.#request(request, signal)
    if (answer.status === 404) return undefined
    if (answer.whole) return answer.body
    throw this.#failed('retry', 'bad_body', answer, '', `object ${key} cannot be read, or is too large`)
  }

  /** An object of that size in pieces, so that only one is in memory. */
  async *read(key: string, bytes: number, signal: AbortSignal): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes;) {
      const headers = { range: `bytes=${at}-${Math.min(bytes, at + rangeBytes) - 1}` }
      const request = {
        method: 'GET',
        key,
        headers,
        right: 's3:GetObject',
        maxBytes: maxObjectBytes,
      } as const
      const answer = await this.#request({ ...request, expects: [404] }, signal)
      const { status, body, whole } = answer
      // 200: the service knows no ranges, and sends all of it.
      if (!whole || body.length === 0 || status === 404 || (status === 200 && at > 0))
        throw this.#failed('retry', 'bad_body', answer, '', `object ${key} cannot be read, or is gone`)
      yield body
      at += body.length
    }
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<{ key: string; bytes: number }> {
    const query = new URLSearchParams({ 'list-type': '2', prefix, 'encoding-type': 'url' })
    let after: string | undefined
    do {
      const request = { method: 'GET', key: '', query: query.toString(), right: 's3:ListBucket' } as const
      const answer = await this.#request(request, signal)
      const xml = answer.body.toString()
      if (!xml.includes('<ListBucketResult'))
        throw this.#failed('stop', 'sink_refuses', answer, '', 'this is not a listing of S3: check endpoint')
      const isEncoded = elementOf(xml, 'EncodingType') === 'url'
      for (const each of xml.split('<Contents>').slice(1)) {
        const key = elementOf(each, 'Key') ?? ''
        const bytes = Number(elementOf(each, 'Size'))
        yield { key: isEncoded ? decodeURIComponent(key.replaceAll('+', ' ')) : key, bytes }
      }
      const next =
        elementOf(xml, 'IsTruncated') === 'true' ? elementOf(xml, 'NextContinuationToken') : undefined
      if (next !== undefined && next === after)
        throw this.#failed('retry', 'bad_body', answer, 'the listing does not go on', '')
      after = next
      query.set('continuation-token', after ?? '')
    } while (after !== undefined)
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#request({ method: 'DELETE', key, right: 's3:DeleteObject', expects: [404] }, signal)
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy()
  }

  /** At most three tries, the last begun within 10 s of the first. */
  async #request(request: Request, signal: AbortSignal): Promise<Answer> {
    const { clock, random = Math.random } = this.#deps
    const untilMs = clock.monotonic() + tryWindowMs
    for (let tried = 1; ; tried++) {
      let failure: Failure
      try {
        return await this.#once(request, signal)
      } catch (error) {
        // Whether a PUT without an answer was carried out, its caller must find out.
        const isLost = isFailure(error) && error.code !== 'server_error' && error.code !== 'throttled'
        if (!isFailure(error) || !['retry', 'wait'].includes(error.kind)) throw error
        if (isLost && request.method === 'PUT') throw error
        failure = error
      }
      const asked = (failure.details.retryAt ?? 0) - clock.now()
      const waitMs = Math.max(asked, backoffMs(tried - 1, backoff, random))
      if (tried >= maxTries || asked > maxRestMs || clock.monotonic() + waitMs >= untilMs) throw failure
      await clock.sleep(waitMs, signal)
    }
  }

  /** One try, and another at once with renewed credentials, or with a checksum, where the answer asks for that. */
  async #once(request: Request, signal: AbortSignal): Promise<Answer> {
    for (let isFirst = true; ; isFirst = false) {
      const used = await this.#credentialsFor(signal)
      const hadChecksum = this.#sendsChecksum
      const { answer, refusal } = await this.#exchange(request, used, signal)
      if (refusal === undefined) return answer
      if (isFirst && refusal.checksum === true && !hadChecksum) {
        this.#sendsChecksum = true
        continue
      }
      if (isFirst && refusal.credentials === true) {
        const renewed = await this.#credentialsFor(signal, used)
        if (JSON.stringify(renewed) !== JSON.stringify(used)) continue
      }
      throw this.#refused(request, await this.#withText(request, answer, refusal, used, signal))
    }
  }

  /** The answer to a HEAD has no body, which would say why it was refused: that to a GET of the same key has one. */
  async #withText(
    request: Request,
    answer: Answer,
    refusal: Refusal,
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<Answer> {
    if (request.method !== 'HEAD' || refusal.kind !== 'stop') return answer
    const get = { ...request, method: 'GET', headers: { range: 'bytes=0-0' } } as const
    const asked = await this.#exchange(get, credentials, signal)
    return asked.refusal === undefined ? answer : asked.answer
  }

  async #credentialsFor(signal: AbortSignal, refused?: Credentials): Promise<Credentials> {
    try {
      this.#current = await orAborted(this.#credentials(refused), signal)
      return this.#current
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled') throw error
      throw new Failure(error.kind, error.code, `${this.#what}: ${error.message}`, error.details)
    }
  }

  async #exchange(request: Request, credentials: Credentials, signal: AbortSignal) {
    const { clock, version } = this.#deps
    const counting = { ...this.#deps, sink: this.#settings.name, slots: this.#slots }
    return inSlot(counting, signal, async (tell) => {
      const signed = await this.#signed(request, credentials)
      const over = {
        dispatcher: this.#dispatcher,
        clock,
        timeoutSeconds: this.#settings.timeoutSeconds,
        what: this.#what,
        // The address of a bucket of AWS does not name its host.
        ...(this.#settings.endpoint === null && { origin: this.#base.origin }),
        ...(request.maxBytes !== undefined && { maxBytes: request.maxBytes }),
      }
      const headers = { ...signed.headers, 'user-agent': `shieldlog/${version}` }
      const sent = { ...signed, headers, method: request.method, body: request.body }
      const answer = await answerTo(sent, over, signal)
      const { status } = answer
      const isExpected =
        (status >= 200 && status < 300) ||
        (request.expects?.includes(status) === true && !isWithoutBucket(answer))
      const refusal = isExpected ? undefined : this.#refusalOf(request, answer)
      const isTaken = request.method === 'PUT' && status < 300
      tell(outcomeOf(refusal), isTaken ? request.body?.length : 0)
      return { answer, refusal }
    })
  }

  async #signed({ method, key, query = '', headers = {}, body }: Request, credentials: Credentials) {
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest()
    const path =
      key === '' ? this.#base.pathname : this.#base.pathname + key.split('/').map(encoded).join('/')
    const signed = await this.#sign(
      {
        method,
        url: `${this.#base.origin}${path}${query === '' ? '' : `?${query}`}`,
        headers: {
          ...headers,
          ...(body !== undefined &&
            this.#sendsChecksum && { 'x-amz-checksum-sha256': digest.toString('base64') }),
        },
        digest,
        nowMs: this.#deps.clock.now(),
      },
      credentials,
    )
    return { ...signed, origin: this.#base.origin }
  }

  #refusalOf({ right }: Request, answer: Answer): Refusal {
    const { bucket, prefix } = this.#settings
    return readRefusal(answer, { bucket, prefix, right, nowMs: this.#deps.clock.now() })
  }

  #refused(request: Request, answer: Answer): Failure {
    const { kind, code, said, remedy } = this.#refusalOf(request, answer)
    return this.#failed(kind, code, answer, said, remedy)
  }

  #failed(
    kind: Refusal['kind'],
    code: Refusal['code'],
    answer: Answer,
    said: string,
    remedy: string,
  ): Failure {
    const secrets = Object.values(this.#current ?? {}).map(String)
    const text = `${this.#what} answered ${answer.status}${excerptOf(masking(secrets)(said))}`
    if (kind === 'retry' && remedy === '')
      return notBefore(retryAtOf(answer, this.#deps.clock.now()), code, text)
    return new Failure(kind, code, `${text}: ${remedy}`)
  }
}

function isWithoutBucket({ status, body }: Answer): boolean {
  return status === 404 && elementOf(body.toString(), 'Code') === 'NoSuchBucket'
}

function outcomeOf(refusal: Refusal | undefined): RequestOutcome {
  if (refusal === undefined) return 'ok'
  if (refusal.credentials === true) return 'unauthorised'
  if (refusal.code === 'sink_refuses') return 'rejected'
  return refusal.code
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
