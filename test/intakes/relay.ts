import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { own } from '../setup/leftovers.ts'

export interface Relay {
  readonly url: string
  /** Resolves once the server has answered the nth body from now on; the answer is never passed on. */
  keepAnswer(nth: number): Promise<void>
}

/** Passes requests on to a server, as a proxy in front of it does, and can keep an answer to itself. */
export async function relayTo(target: string): Promise<Relay> {
  const agent = new Agent()
  let keep: { left: number; resolve(): void } | undefined
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const { statusCode, headers, body } = await request(target + (incoming.url ?? '/'), {
      dispatcher: agent,
      method: incoming.method as 'POST',
      headers: withoutConnection(incoming.headers),
      body: chunks.length === 0 ? null : Buffer.concat(chunks),
    })
    const answer = Buffer.from(await body.arrayBuffer())
    if (keep !== undefined && incoming.method === 'POST' && --keep.left === 0) return keep.resolve()
    outgoing.writeHead(statusCode, withoutConnection(headers)).end(answer)
  }
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  own({
    what: 'relay',
    isLeft: () => true,
    remove: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await Promise.all([closed, agent.destroy()])
    },
    isFault: false,
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keepAnswer: (nth) => new Promise((resolve) => (keep = { left: nth, resolve })),
  }
}

/** Headers that hold for one connection, or that the other side writes itself. */
function withoutConnection(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const own = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host', 'expect'])
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || own.has(name) ? [] : [[name, value]],
    ),
  )
}
