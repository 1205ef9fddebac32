import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { Failure } from '../domain/failure.ts'

export interface BodyLimits {
  /** The Content-Encoding header as received. */
  readonly encoding: string | string[] | undefined
  /** Limit before and after decoding. */
  readonly maxBytes: number
}

type Decode<Decoded> = (body: Buffer, options: { maxOutputLength: number }) => Decoded

/** At once, and in the thread pool. */
const decoders = new Map<string, readonly [Decode<Buffer>, Decode<Promise<Buffer>>]>([
  ['gzip', [zlib.gunzipSync, promisify(zlib.gunzip)]],
  ['br', [zlib.brotliDecompressSync, promisify(zlib.brotliDecompress)]],
  ['zstd', [zlib.zstdDecompressSync, promisify(zlib.zstdDecompress)]],
])
/** The supported codings, as an Accept-Encoding header. */
export const acceptedEncodings = 'gzip, br, zstd'
/** Decoding a smaller body synchronously is cheaper than the thread pool. */
const atOnceBytes = 1_048_576

/**
 * Reads a whole body and decodes it. The stream is read to its end or destroyed, so the connection never stays blocked.
 * Throws Failure `page_too_large` (refuse) beyond the limit, `bad_body` (retry) for a body that cannot be decoded; the
 * error of a body that ends early, as where its request is stopped, as it is.
 */
export async function readBody(body: Readable, limits: BodyLimits): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  // A body that is left before its end is destroyed, and emits an error that has no other listener.
  body.on('error', () => undefined)
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > limits.maxBytes) throw tooLarge(limits.maxBytes)
    chunks.push(chunk)
  }
  return decode(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes), limits)
}

async function decode(body: Buffer, { encoding = '', maxBytes }: BodyLimits): Promise<Buffer> {
  const coding = String(encoding).trim().toLowerCase()
  // An empty body is empty in any coding: servers send 204 and 500 answers with a coding.
  if (body.length === 0 || coding === '' || coding === 'identity') return body
  const [atOnce, later] = decoders.get(coding) ?? []
  if (atOnce === undefined || later === undefined)
    throw badBody(`content coding ${JSON.stringify(coding.slice(0, 20))} is unknown`)
  const options = { maxOutputLength: Math.max(1, maxBytes) }
  try {
    return body.length <= atOnceBytes ? atOnce(body, options) : await later(body, options)
  } catch (cause) {
    if (cause instanceof Error && Reflect.get(cause, 'code') === 'ERR_BUFFER_TOO_LARGE')
      throw tooLarge(maxBytes)
    throw badBody(`the ${coding} answer cannot be decompressed`, cause)
  }
}

function tooLarge(limit: number): Failure {
  return new Failure('refuse', 'page_too_large', `the answer is larger than ${limit} bytes`)
}

function badBody(message: string, cause?: unknown): Failure {
  return new Failure('retry', 'bad_body', message, { cause })
}
