import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { own } from '../setup/leftovers.ts'

/** One request as the receiver got it, uncompressed. */
export interface Got {
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly lines: readonly string[]
}

/** A status and a body to answer with; `hang` never answers. */
export type Verdict = 'hang' | { readonly status: number; readonly body?: string }

export interface Receiver {
  readonly url: string
  /** Every request in order, answered or not. */
  readonly got: readonly Got[]
  /** Lines of all requests that were answered with 2xx. */
  readonly taken: readonly string[]
  /** Decides all answers from now on. */
  answer(decide: (got: Got, index: number) => Verdict): void
}

/** A real HTTP receiver on 127.0.0.1 that takes everything until told otherwise; closed after the test. */
export async function receiver(): Promise<Receiver> {
  const got: Got[] = []
  const taken: string[] = []
  let decide: (got: Got, index: number) => Verdict = () => ({ status: 200 })
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8')
    const one = { headers: request.headers, text, lines: text.split('\n').filter((line) => line !== '') }
    got.push(one)
    const verdict = decide(one, got.length - 1)
    if (verdict === 'hang') return
    if (verdict.status < 300) taken.push(...one.lines)
    response.writeHead(verdict.status).end(verdict.body ?? '')
  }
  const server = createServer((request, response) => {
    // A request that ends half way was never got.
    serve(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const remove = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  own({ what: 'receiver', isLeft: () => server.listening, remove, isFault: false })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`,
    got,
    taken,
    answer: (next) => void (decide = next),
  }
}
