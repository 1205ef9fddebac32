import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'

/** How the destination behaves now. */
export type Mood = 'well' | 'busy' | 'broken' | 'deaf' | 'forgetful' | 'slow' | 'gone'

export const moods: readonly Mood[] = ['busy', 'broken', 'deaf', 'forgetful', 'slow', 'gone']

export interface SoakReceiver {
  readonly url: string
  mood: Mood
  /** How often each event was taken, by `zone/id`. */
  readonly taken: ReadonlyMap<string, number>
  /** One event came as two different texts. */
  readonly changed: ReadonlySet<string>
  /** One idempotency key named two bodies. */
  readonly twoBodies: ReadonlySet<string>
  close(): Promise<void>
}

const slowMs = 1_500

/** Refuses events that are poison, each time; keeps a hash of every other text and body. */
export async function startReceiver(isPoison: (id: string) => boolean): Promise<SoakReceiver> {
  const taken = new Map<string, number>()
  const texts = new Map<string, string>()
  const bodies = new Map<string, string>()
  const changed = new Set<string>()
  const twoBodies = new Set<string>()

  const same = (known: Map<string, string>, key: string, text: string, other: Set<string>) => {
    const found = hash('sha1', text, 'base64')
    if ((known.get(key) ?? found) !== found) other.add(key)
    known.set(key, found)
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const { mood } = self
    if (mood === 'gone') return request.socket.destroy()
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = gunzipSync(Buffer.concat(chunks)).toString('utf8')
    same(bodies, String(request.headers['idempotency-key']), text, twoBodies)
    const events = text.split('\n').flatMap((line) => {
      if (line === '') return []
      const { id, zone } = JSON.parse(line) as { id: string; zone: { id: number } }
      same(texts, `${zone.id}/${id}`, line, changed)
      return [{ id, key: `${zone.id}/${id}` }]
    })
    if (mood === 'busy') return response.writeHead(429, { 'retry-after': '1' }).end()
    if (mood === 'broken') return response.writeHead(503).end()
    // Never answered: the other side has to give up.
    if (mood === 'deaf') return undefined
    if (mood === 'slow') await sleep(slowMs)
    if (events.some(({ id }) => isPoison(id))) return response.writeHead(400).end('poison')
    for (const { key } of events) taken.set(key, (taken.get(key) ?? 0) + 1)
    // Taken, and the answer is lost on its way.
    return mood === 'forgetful' ? request.socket.destroy() : response.end()
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const self: SoakReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`,
    mood: 'well',
    taken,
    changed,
    twoBodies,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
  return self
}
