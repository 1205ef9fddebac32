import type { Readable } from 'node:stream'
import { Failure } from '../domain/failure.ts'
import { decodeBody } from './decode-body.ts'
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
