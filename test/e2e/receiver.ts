import type { IncomingMessage } from 'node:http'
import { bodyOf, serveHttp } from '../setup/http-server.ts'

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
  const { url } = await serveHttp(async (request, response) => {
    const text = await bodyOf(request)
    const one = { headers: request.headers, text, lines: text.split('\n').filter((line) => line !== '') }
    got.push(one)
    const verdict = decide(one, got.length - 1)
    if (verdict === 'hang') return
    if (verdict.status < 300) taken.push(...one.lines)
    response.writeHead(verdict.status).end(verdict.body ?? '')
  })
  return { url: `${url}/in`, got, taken, answer: (next) => void (decide = next) }
}
