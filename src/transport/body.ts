import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliDecompress,
  brotliDecompressSync,
  gunzip,
  gunzipSync,
  inflate,
  inflateRaw,
  inflateRawSync,
  inflateSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib'
import { Failure } from '../domain/failure.ts'
import { networkFailure } from './network-failure.ts'

export interface BodyLimits {
  /** The Content-Encoding header as received. */
  readonly encoding: string | undefined
  /** Limit before decoding. */
  readonly maxCompressedBytes: number
  /** Limit after decoding. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/**
 * Reads a whole body and decodes it. The stream is read to its end or destroyed, so the connection never stays blocked.
 * Throws Failure: `page_too_large` (refuse) beyond a limit, `bad_body` (retry) when it cannot be decoded, `network` or
 * `timeout` when it ends early, `cancelled`.
 */
export async function readBody(body: Readable, limits: BodyLimits): Promise<Buffer> {
  const raw = await collect(body, limits)
  const decoded = await decodeBody(raw, limits.encoding, limits.maxBytes)
  if (decoded.length > limits.maxBytes) throw tooLarge(limits.maxBytes, 'bytes')
  if (limits.signal.aborted) throw networkFailure(limits.signal.reason, 'reading the answer', limits.signal)
  return decoded
}

async function collect(body: Readable, limits: BodyLimits): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  const stop = () => body.destroy()
  limits.signal.addEventListener('abort', stop, { once: true })
  // A destroyed body emits an error that has no other listener.
  body.on('error', ignore)
  try {
    if (limits.signal.aborted) stop()
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > limits.maxCompressedBytes) throw tooLarge(limits.maxCompressedBytes, 'bytes on the wire')
      chunks.push(chunk)
    }
  } catch (error) {
    throw networkFailure(error, 'reading the answer', limits.signal)
  } finally {
    limits.signal.removeEventListener('abort', stop)
    body.destroy()
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
}

function ignore(): void {}

function tooLarge(limit: number, unit: string): Failure {
  return new Failure('refuse', 'page_too_large', `the answer is larger than ${limit} ${unit}`)
}

interface Decoder {
  readonly now: (body: Buffer, options: { maxOutputLength: number }) => Buffer
  readonly later: (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>
}

const gzip: Decoder = { now: gunzipSync, later: promisify(gunzip) }
const zlib: Decoder = { now: inflateSync, later: promisify(inflate) }
const rawDeflate: Decoder = { now: inflateRawSync, later: promisify(inflateRaw) }
const brotli: Decoder = { now: brotliDecompressSync, later: promisify(brotliDecompress) }
const zstd: Decoder = { now: zstdDecompressSync, later: promisify(zstdDecompress) }

/** The supported codings, as an Accept-Encoding header. */
export const acceptedEncodings = 'gzip, br, zstd'

/** Decoding a smaller body synchronously is cheaper than the thread pool. */
const atOnceBytes = 1_048_576
/** A list of codings is legal; a longer one is an attempt to waste CPU time. */
const maxCodings = 3

/**
 * Decodes a body by its Content-Encoding. Throws Failure: `page_too_large` (refuse) beyond `maxBytes`, `bad_body`
 * (retry) for an unknown coding or a body that cannot be decoded.
 */
export async function decodeBody(
  body: Buffer,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  const codings = (encoding ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length > maxCodings) throw badBody('too many content codings')
  let decoded = body
  for (const coding of codings.reverse()) {
    // An empty body is empty in any coding: servers send 204 and 500 answers with a coding.
    if (decoded.length === 0) return decoded
    decoded = await decodeOne(decoded, coding, maxBytes)
  }
  return decoded
}

async function decodeOne(body: Buffer, coding: string, maxBytes: number): Promise<Buffer> {
  const decoder = decoderOf(coding, body)
  if (decoder === undefined) throw badBody(`content coding ${JSON.stringify(coding.slice(0, 20))} is unknown`)
  const options = { maxOutputLength: Math.max(1, maxBytes) }
  try {
    return body.length <= atOnceBytes ? decoder.now(body, options) : await decoder.later(body, options)
  } catch (cause) {
    if (cause instanceof Error && Reflect.get(cause, 'code') === 'ERR_BUFFER_TOO_LARGE')
      throw new Failure(
        'refuse',
        'page_too_large',
        `the decompressed answer is larger than ${maxBytes} bytes`,
      )
    throw badBody(`the ${coding} answer cannot be decompressed`, cause)
  }
}

function decoderOf(coding: string, body: Buffer): Decoder | undefined {
  if (coding === 'gzip' || coding === 'x-gzip') return gzip
  if (coding === 'br') return brotli
  if (coding === 'zstd') return zstd
  if (coding === 'deflate') return isZlib(body) ? zlib : rawDeflate
  return undefined
}

/** `deflate` means the zlib format, but some servers send raw deflate; the first two bytes show which. */
function isZlib(body: Buffer): boolean {
  if (body.length < 2) return true
  const [first, second] = [body[0]!, body[1]!]
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}

function badBody(message: string, cause?: unknown): Failure {
  return new Failure('retry', 'bad_body', message, { cause })
}
