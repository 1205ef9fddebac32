import type { IncomingMessage, ServerResponse } from 'node:http'
import { sentSignature, sha256, signatureOf } from './aws-signature.ts'
import { serveHttp } from './http-server.ts'

export interface StoredObject {
  readonly body: Buffer
  readonly contentType: string
  readonly metadata: Readonly<Record<string, string>>
}

/** What becomes of one request, in place of its proper answer. */
export type Fault =
  | {
      readonly status: number
      readonly code?: string
      readonly message?: string
      readonly more?: string
      readonly headers?: Record<string, string>
      /** The object is written, in spite of the error. */
      readonly isWritten?: boolean
    }
  /** The object is written; the connection is closed without an answer. */
  | 'lost answer'
  /** The connection is closed before the body is read. */
  | 'closed'
  /** There is no answer until the promise resolves. */
  | Promise<void>

export interface BucketRequest {
  readonly method: string
  readonly key: string
  readonly headers: IncomingMessage['headers']
}

/** A bucket of an S3 service in this process, whose faults a test sets. */
export interface FakeBucket {
  readonly url: string
  readonly bucket: string
  readonly objects: Map<string, StoredObject>
  readonly requests: BucketRequest[]
  /** `raced`: looks whether the key is free before it has read the body, as a bad service does. */
  conditions: 'kept' | 'ignored' | 'unsupported' | 'raced'
  /** Asks for a checksum of each object, as a bucket with Object Lock does. */
  needsChecksum: boolean
  /** `first version`: there is no token of the next page. `round`: one that leads to the first page again. */
  listing: 'whole' | 'first version' | 'round'
  /** The fault of a request, if any. */
  fault: (request: BucketRequest) => Fault | undefined
}

export const fakeKey = { accessKeyId: 'AKIAFAKE', secretAccessKey: 'fake/secret+key' }

export async function startFakeBucket({
  bucket = 'waf',
  secret = () => fakeKey.secretAccessKey,
}: { bucket?: string; secret?: () => string } = {}): Promise<FakeBucket> {
  const { url } = await serveHttp(answer)
  const fake: FakeBucket = {
    url,
    bucket,
    objects: new Map(),
    requests: [],
    conditions: 'kept',
    needsChecksum: false,
    listing: 'whole',
    fault: () => undefined,
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, url)
    const [, name = '', ...rest] = pathname.split('/')
    const got = {
      method: request.method!,
      key: rest.map(decodeURIComponent).join('/'),
      headers: request.headers,
    }
    fake.requests.push(got)
    const wasFree = !fake.objects.has(got.key)
    const fault = fake.fault(got)
    if (fault === 'closed') return void request.socket.destroy()
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (fault instanceof Promise) await fault
    const end = (status: number, text: string | Buffer = '', headers: Record<string, string> = {}) => {
      response.writeHead(status, headers).end(got.method === 'HEAD' ? '' : text)
    }
    const fail = (status: number, code: string, { message = '', more = '', headers = {} } = {}) =>
      end(
        status,
        `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`,
        {
          'content-type': 'application/xml',
          ...headers,
        },
      )
    const error = typeof fault === 'object' && 'status' in fault ? fault : undefined
    const failing = () => fail(error!.status, error!.code ?? '', error)
    if (error !== undefined && error.isWritten !== true) return failing()
    if (request.headers['x-amz-content-sha256'] !== sha256(body))
      return fail(400, 'XAmzContentSHA256Mismatch')
    if (sentSignature(request) !== signatureOf(request, body, secret()))
      return fail(403, 'SignatureDoesNotMatch')
    if (name !== bucket) return fail(404, 'NoSuchBucket')
    if (got.key === '') return end(200, listing(searchParams))

    const stored = fake.objects.get(got.key)
    if (got.method === 'DELETE') {
      fake.objects.delete(got.key)
      return end(204)
    }
    if (got.method !== 'PUT') {
      if (stored === undefined) return fail(404, 'NoSuchKey')
      const metadata = Object.entries(stored.metadata).map(
        ([name, value]) => [`x-amz-meta-${name}`, value] as const,
      )
      return end(200, stored.body, {
        'content-type': stored.contentType,
        'content-length': String(stored.body.length),
        ...Object.fromEntries(metadata),
      })
    }
    const isConditional = request.headers['if-none-match'] === '*'
    if (isConditional && fake.conditions === 'unsupported') return fail(501, 'NotImplemented')
    const checksum = request.headers['x-amz-checksum-sha256']
    if (fake.needsChecksum && checksum === undefined)
      return fail(400, 'InvalidRequest', {
        message:
          'Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters',
      })
    if (checksum !== undefined && checksum !== sha256(body, 'base64')) return fail(400, 'BadDigest')
    const isFree = fake.conditions === 'raced' ? wasFree : stored === undefined
    if (isConditional && fake.conditions !== 'ignored' && !isFree) return fail(412, 'PreconditionFailed')
    const metadata = Object.entries(request.headers)
      .filter(([name]) => name.startsWith('x-amz-meta-'))
      .map(([name, value]) => [name.slice(11), String(value)])
    const contentType = request.headers['content-type'] ?? ''
    fake.objects.set(got.key, { body, contentType, metadata: Object.fromEntries(metadata) })
    if (fault === 'lost answer') return void request.socket.destroy()
    if (error !== undefined) return failing()
    end(200, '', { etag: '"etag"' })
  }

  /** Two objects a page. */
  function listing(query: URLSearchParams): string {
    const after = query.get('continuation-token') ?? ''
    const keys = [...fake.objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? ''))
      .toSorted()
    const rest = keys.filter((key) => key > after)
    const page = rest.slice(0, 2)
    const contents = page.map(
      (key) =>
        `<Contents><Key>${encodeURIComponent(key).replaceAll("'", '&#39;')}</Key><Size>${fake.objects.get(key)!.body.length}</Size></Contents>`,
    )
    const isTruncated = rest.length > 2 || fake.listing === 'round'
    const next = isTruncated && fake.listing !== 'first version' ? (page[1] ?? keys[0]) : undefined
    const more = next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`
    return `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${more}${contents.join('')}</ListBucketResult>`
  }
  return fake
}
