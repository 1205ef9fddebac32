import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { Failure } from '../domain/failure.ts'

interface BodyLimits {
  /** The Content-Encoding header as received. */
  readonly encoding: string | readonly string[] | undefined
  /** Limit before and after decoding. */
  readonly maxBytes: number
}

type Decode<Decoded> = (
  body: Buffer,
  options: { readonly maxOutputLength: number; readonly chunkSize: number },
) => Decoded

interface Decoder {
  /** How each such body begins; absent where it may begin with anything. */
  readonly magic?: Buffer
  readonly atOnce: Decode<Buffer>
  /** In the thread pool. */
  readonly later: Decode<Promise<Buffer>>
}

const [inflated, inflatedRaw] = [promisify(zlib.inflate), promisify(zlib.inflateRaw)]

/** Some servers send it without the two bytes of this header. */
function isOfZlib(body: Buffer): boolean {
  return (body[0]! & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0
}

const decoders: Readonly<Record<string, Decoder | undefined>> = {
  gzip: { magic: Buffer.from([0x1f, 0x8b]), atOnce: zlib.gunzipSync, later: promisify(zlib.gunzip) },
  deflate: {
    atOnce: (body, options) => (isOfZlib(body) ? zlib.inflateSync : zlib.inflateRawSync)(body, options),
    later: (body, options) => (isOfZlib(body) ? inflated : inflatedRaw)(body, options),
  },
  br: { atOnce: zlib.brotliDecompressSync, later: promisify(zlib.brotliDecompress) },
  zstd: {
    magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
    atOnce: zlib.zstdDecompressSync,
    later: promisify(zlib.zstdDecompress),
  },
}
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
  if (chunks.length === 1) return decode(chunks[0]!, limits)
  const joined = Buffer.concat(chunks, bytes)
  for (const chunk of chunks) giveBack(chunk)
  return decode(joined, limits)
}

/**
 * Gives the memory of a buffer back at once: V8 counts memory outside its heap, and collects the whole heap whenever
 * 32 MiB of it were used. The buffer is empty from then on, with all others over the same memory. Smaller ones stay as they
 * are: they may lie in the pool that all of Node shares.
 */
export function giveBack({ buffer, length }: Buffer): void {
  const isOwn = length >= Buffer.poolSize / 2 || buffer.byteLength > Buffer.poolSize
  if (isOwn && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Undoes the codings from the last to the first. */
async function decode(body: Buffer, limits: BodyLimits): Promise<Buffer> {
  const named = [limits.encoding ?? ''].flat().join().toLowerCase().split(',')
  const codings = named.map((each) => each.trim()).filter((each) => !plainCodings.has(each))
  if (codings.length > mostCodings) throw badBody(`it has ${codings.length} content codings`)
  let decoded = body
  for (const coding of codings.reverse()) {
    const coded = decoded
    decoded = await decodeOne(coded, coding, limits.maxBytes)
    if (decoded !== coded) giveBack(coded)
  }
  return decoded
}

const mostCodings = 4
/** Proxies and frameworks name these where nothing is coded. */
const plainCodings = new Set(['', 'identity', 'none', 'utf-8', 'utf8'])

async function decodeOne(body: Buffer, coding: string, maxBytes: number): Promise<Buffer> {
  // An empty body is empty in any coding: servers send 204 and 500 answers with a coding.
  if (body.length === 0) return body
  const { magic, atOnce, later } = decoders[coding.replace(/^x-/, '')] ?? {}
  if (atOnce === undefined || later === undefined)
    throw badBody(`content coding ${JSON.stringify(coding.slice(0, 20))} is unknown`)
  // Something on the way has decoded it, and left the header.
  if (magic !== undefined && !body.subarray(0, magic.length).equals(magic)) return body
  try {
    const options = { maxOutputLength: Math.max(1, maxBytes), chunkSize: pieceBytes(body, coding, maxBytes) }
    return body.length <= atOnceBytes ? atOnce(body, options) : await later(body, options)
  } catch (cause) {
    if (cause instanceof Error && Reflect.get(cause, 'code') === 'ERR_BUFFER_TOO_LARGE')
      throw tooLarge(maxBytes)
    throw badBody(`the ${coding} answer cannot be decompressed`, cause)
  }
}

const leastPiece = 16_384
/** What texts like these rarely exceed, and what deflate never does. */
const [usualRatio, mostRatio] = [16, 1_032]

/**
 * Zlib decodes into pieces of this size, and joins them where there are several. Pieces cannot be given back, and small
 * ones lie in the pool of Node; so one piece is to hold the whole answer.
 */
function pieceBytes(body: Buffer, coding: string, maxBytes: number): number {
  // A gzip body ends with its length (modulo 2^32); a piece that is full makes zlib take another one.
  const expected = coding.endsWith('gzip') ? body.readUInt32LE(body.length - 4) + 1 : body.length * usualRatio
  return Math.max(leastPiece, Math.min(expected, body.length * mostRatio, maxBytes + 1))
}

function tooLarge(limit: number): Failure {
  return new Failure('refuse', 'page_too_large', `the answer is larger than ${limit} bytes`)
}

function badBody(message: string, cause?: unknown): Failure {
  return new Failure('retry', 'bad_body', message, { cause })
}
