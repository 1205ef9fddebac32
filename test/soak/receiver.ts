import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf, serveHttp } from '../setup/http-server.ts'

export const moods = ['busy', 'broken', 'deaf', 'forgetful', 'slow', 'gone'] as const

export interface SoakReceiver {
  readonly url: string
  /** How the destination behaves now. */
  mood: 'well' | (typeof moods)[number]
  /** How often each event was taken, by `zone/id`. */
  readonly taken: ReadonlyMap<string, number>
  /** One event came as two different texts. */
  readonly changed: ReadonlySet<string>
  /** One idempotency key named two bodies. */
  readonly twoBodies: ReadonlySet<string>
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

  const { url } = await serveHttp(async (request, response): Promise<unknown> => {
    const { mood } = self
    if (mood === 'gone') return request.socket.destroy()
    const text = await bodyOf(request)
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
  })
  const self: SoakReceiver = { url: `${url}/in`, mood: 'well', taken, changed, twoBodies }
  return self
}
