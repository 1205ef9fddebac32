import type { IncomingMessage } from 'node:http'
import { bodyOf, serveHttp } from '../setup/http-server.ts'
import { hash } from 'node:crypto'
import type { Line } from './shipped.ts'

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

/** How often something came in two forms that has to be the same on every try. */
export interface Honesty {
  /** One event, two lines. */
  readonly changedEvents: number
  /** One idempotency key, two bodies. */
  readonly keysWithTwoBodies: number
  /** One body, two idempotency keys. */
  readonly bodiesWithTwoKeys: number
}

export const honest: Honesty = { changedEvents: 0, keysWithTwoBodies: 0, bodiesWithTwoKeys: 0 }

type Sent = Pick<Got, 'headers' | 'text' | 'lines'>

/** What holds of every request, whatever became of it. */
export function honestyOf(got: readonly Sent[]): Honesty {
  const honesty = createHonesty()
  got.forEach(honesty.note)
  return honesty.found()
}

/** The same request by request, of which hashes are kept. */
export function createHonesty() {
  const [lines, bodies, keys] = [createTexts(), createTexts(), createTexts()]
  return {
    note(one: Sent) {
      const key = String(one.headers['idempotency-key'])
      bodies.note(key, one.text)
      keys.note(hashOf(one.text), key)
      for (const line of one.lines) lines.note(keyOfLine(line), line)
    },
    found: (): Honesty => ({
      changedEvents: lines.differing(),
      keysWithTwoBodies: bodies.differing(),
      bodiesWithTwoKeys: keys.differing(),
    }),
  }
}

/** `zone/day/id` of a line in native format, with the day of its time. */
export function keyOfLine(text: string): string {
  const { id, zone, time } = JSON.parse(text) as Line
  return `${zone.id}/${time.slice(0, 10)}/${id}`
}

const hashOf = (text: string) => hash('sha1', text, 'base64')

function createTexts() {
  const first = new Map<string, string>()
  const differing = new Set<string>()
  return {
    note(name: string, text: string) {
      const found = hashOf(text)
      if ((first.get(name) ?? found) !== found) differing.add(name)
      first.set(name, first.get(name) ?? found)
    },
    differing: () => differing.size,
  }
}
