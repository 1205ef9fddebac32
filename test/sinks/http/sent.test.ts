import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { buildEvent, buildEvents } from '../../formats/events.ts'
import { named } from '../internal-events.ts'
import { deliver, format, never, openStream, reply, serve, ship } from './destination-server.ts'

describe('the request', () => {
  it.each(['none', 'gzip', 'zstd'] as const)(
    'is one line per event, with compression %s',
    async (compression) => {
      const server = await serve(reply(200))
      const { sink, internalEvents } = ship(`${server.url}/in?tag=a`, {
        compression,
        headers: { 'X-Tenant': new Secret('t-1') },
      })
      const events = [...buildEvents(5), buildEvent({ id: 'é\u2028😀', pop: 'a\nb' })]
      const delivery = await deliver(sink, events)
      const text = events.map((event) => `${format.encode(event)}\n`).join('')
      expect(server.got).toHaveLength(1)
      const { method, path, headers, text: sent } = server.got[0]!
      expect({ method, path, sent }).toEqual({ method: 'POST', path: '/in?tag=a', sent: text })
      expect(headers).toMatchObject({
        'content-type': 'application/x-ndjson',
        'idempotency-key': createHash('sha256').update(text).digest('hex'),
        'user-agent': 'shieldlog/1.2.3',
        'x-tenant': 't-1',
        'content-length': String(server.got[0]!.body.length),
      })
      expect(headers['content-encoding']).toBe(compression === 'none' ? undefined : compression)
      expect(headers['transfer-encoding']).toBeUndefined()
      expect(delivery).toMatchObject({ refusals: [], committed: [] })
      expect(named(internalEvents, 'SinkAnswered')).toMatchObject([
        { sink: 'siem', outcome: 'ok', bytes: Buffer.byteLength(text) },
      ])
    },
  )

  it('is one array with the preset json', async () => {
    const server = await serve(reply(202, '{}'))
    const { sink } = ship(server.url, { preset: 'json', headers: { 'User-Agent': 'waf/1' } })
    const events = buildEvents(3)
    await deliver(sink, events)
    expect(server.got[0]!.text).toBe(`[${events.map((event) => format.encode(event)).join(',')}]`)
    expect(server.got[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'waf/1',
    })
  })

  it.each(['gzip', 'zstd'] as const)(
    'is the same for the same events in any process: %s',
    async (compression) => {
      const sent = await Promise.all(
        [1, 2].map(async () => {
          const server = await serve(reply(200))
          const batch = { maxEvents: 7, maxBytes: 5_000 }
          await deliver(ship(server.url, { compression, batch }).sink, buildEvents(40))
          return server.got.map(({ body }) => body.toString('hex'))
        }),
      )
      expect(sent[0]!.length).toBeGreaterThan(5)
      expect(sent[0]).toEqual(sent[1])
    },
  )

  it('keeps the limits of count and bytes, and sends a too large event alone, in order', async () => {
    const server = await serve(reply(200))
    const { sink } = ship(server.url, { batch: { maxEvents: 10, maxBytes: 6_000 } })
    const events = buildEvents(30).map((event, index) => ({
      ...event,
      pop: 'x'.repeat(index === 12 ? 9_000 : 100),
    }))
    await deliver(sink, events)
    expect(server.got.flatMap(({ ids }) => ids)).toEqual(events.map(({ id }) => id))
    for (const { ids, body } of server.got)
      expect(ids.length === 1 || (ids.length <= 10 && body.length <= 6_000)).toBe(true)
    expect(server.got.find(({ ids }) => ids.includes('event-12'))!.ids).toEqual(['event-12'])
  })

  it('is one batch after another for a stream, and parallel for several streams', async () => {
    let now = 0
    let most = 0
    const server = await serve((_got, response) => {
      most = Math.max(most, ++now)
      setImmediate(() => {
        now--
        response.end()
      })
    })
    const { sink } = ship(server.url, { batch: { maxEvents: 5, maxBytes: 100_000 } })
    await deliver(sink, buildEvents(50))
    expect(most).toBe(1)
    await Promise.all(
      Array.from({ length: 30 }, async (_, zone) =>
        (await openStream(sink, zone)).deliver(buildEvents(20, `z${zone}`), never),
      ),
    )
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(10)
    expect(server.connections()).toBeLessThanOrEqual(10)
    expect(new Set(server.taken()).size).toBe(50 + 600)
  })
})
