import { brotliCompressSync, constants, createBrotliCompress, createDeflate, createGzip } from 'node:zlib'
import { createZstdCompress, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Answer, Send } from './answer.ts'
import type { Encoding } from './faults/fault.ts'
import type { ServerResponse } from 'node:http'

/** Ways to send an answer that a client must handle. */

export const sendWhole: Send = async (response, answer) => {
  response.writeHead(answer.status, headersOf(answer))
  response.end(answer.body)
}

export function sendThenReset(when: 'before' | 'mid'): Send {
  return async (response, answer) => {
    if (when === 'mid') await sendHalf(response, answer)
    response.socket?.resetAndDestroy()
  }
}

export function sendThenHang(when: 'before' | 'mid'): Send {
  return async (response, answer, { signal }) => {
    if (when === 'mid') await sendHalf(response, answer)
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

export function sendCut(missingBytes: number): Send {
  return async (response, answer) => {
    const body = bodyOf(answer)
    response.writeHead(answer.status, { ...headersOf(answer), 'content-length': String(body.length) })
    const kept = body.subarray(0, Math.max(0, body.length - missingBytes))
    await flushed(response, kept)
    response.socket?.end()
  }
}

export function sendDripping(everyMs: number, chunkBytes: number): Send {
  return async (response, answer, { clock, signal }) => {
    const body = bodyOf(answer)
    response.writeHead(answer.status, headersOf(answer))
    for (let start = 0; start < body.length; start += chunkBytes) {
      await flushed(response, body.subarray(start, start + chunkBytes))
      await clock.sleep(everyMs, signal)
    }
    response.end()
  }
}

export function sendDelayed(ms: number): Send {
  return async (response, answer, tools) => {
    await tools.clock.sleep(ms, tools.signal)
    await sendWhole(response, answer, tools)
  }
}

/** Adds white space before the last bracket: still JSON, and only one piece of it is in memory. */
export function sendOversized(bytes: number, declared: boolean): Send {
  return async (response, answer, { signal }) => {
    const body = bodyOf(answer)
    const length = { 'content-length': String(Math.max(bytes, body.length)) }
    const { 'content-length': _, ...headers } = headersOf(answer)
    response.writeHead(answer.status, declared ? { ...headers, ...length } : headers)
    await pipeline(Readable.from(padded(body, bytes)), response, { signal })
  }
}

export function sendBomb(bytes: number, encoding: Encoding): Send {
  return async (response, answer, { signal }) => {
    const { 'content-length': _, ...headers } = headersOf(answer)
    response.writeHead(answer.status, { ...headers, 'content-encoding': encoding })
    await pipeline(Readable.from(padded(bodyOf(answer), bytes)), encoders[encoding](), response, { signal })
  }
}

/** The answer with its body encoded, labelled with that encoding or another. */
export function encoded(answer: Answer, encoding: Encoding, label: string = encoding): Answer {
  if (answer.body === undefined) return answer
  const headers = { ...answer.headers, 'content-encoding': label, vary: 'Accept-Encoding' }
  return { ...answer, headers, body: encodings[encoding](answer.body) }
}

/** True when the request's Accept-Encoding accepts this encoding; its preference does not matter. */
export function accepts(acceptEncoding: string, encoding: Encoding): boolean {
  return acceptEncoding.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const isRefused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    return !isRefused && (name === encoding || name === '*')
  })
}

const encodings = {
  gzip: (body) => gzipSync(body, { level: 1 }),
  deflate: (body) => deflateSync(body, { level: 1 }),
  br: (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (body) => zstdCompressSync(body),
} satisfies Record<Encoding, (body: Buffer) => Buffer>

const encoders = {
  gzip: () => createGzip({ level: 1 }),
  deflate: () => createDeflate({ level: 1 }),
  br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: () => createZstdCompress(),
} satisfies Record<Encoding, () => Transform>

function* padded(body: Buffer, bytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(65_536, ' ')
  yield body.subarray(0, -1)
  for (let left = bytes - body.length; left > 0; left -= piece.length) {
    yield left < piece.length ? piece.subarray(0, left) : piece
  }
  yield body.subarray(-1)
}

async function sendHalf(response: ServerResponse, answer: Answer): Promise<void> {
  const body = bodyOf(answer)
  response.writeHead(answer.status, { ...headersOf(answer), 'content-length': String(body.length) })
  await flushed(response, body.subarray(0, Math.ceil(body.length / 2)))
}

// A client that disconnects makes the callback report an error: that is expected here.
function flushed(response: ServerResponse, part: Buffer): Promise<void> {
  return new Promise((resolve) => {
    response.write(part, () => resolve())
  })
}

function bodyOf(answer: Answer): Buffer {
  return answer.body ?? Buffer.from('{}')
}

function headersOf(answer: Answer): Record<string, string> {
  if (answer.body === undefined) return { ...answer.headers }
  return { ...answer.headers, 'content-length': String(answer.body.length) }
}
