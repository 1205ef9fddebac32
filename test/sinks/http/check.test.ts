import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { never, reply, serve, ship, type Respond } from './destination-server.ts'

describe('a check', () => {
  const outcomes: [string, Respond, { kind?: string; code?: string }][] = [
    ['200', reply(200), {}],
    ['204', reply(204), {}],
    ['405', reply(405), {}],
    ['501', reply(501), {}],
    ['400', reply(400), {}],
    [
      '404 to HEAD alone',
      (got, response) => response.writeHead(got.method === 'OPTIONS' ? 204 : 404).end(),
      {},
    ],
    ['404', reply(404), { kind: 'stop', code: 'sink_refuses' }],
    ['401', reply(401), { kind: 'stop', code: 'sink_refuses' }],
    ['403', reply(403), { kind: 'stop', code: 'sink_refuses' }],
    ['302', reply(302, '', { location: '/login' }), { kind: 'stop', code: 'sink_refuses' }],
    ['503', reply(503), { kind: 'retry', code: 'server_error' }],
    ['a reset', (_got, response) => response.socket!.resetAndDestroy(), { kind: 'retry', code: 'network' }],
  ]
  it.each(outcomes)(
    'sends no event, and reports what it could test: %s',
    async (_name, respond, expected) => {
      const server = await serve(respond)
      const { sink } = ship(`${server.url}/in`, { headers: { Authorization: new Secret('Bearer abcdef') } })
      const result = await sink.check(never).then(
        (found) => ({ found }),
        (error: unknown) => error as object,
      )
      expect(result).toMatchObject(expected)
      if (expected.kind === undefined)
        expect(result).toMatchObject({
          found: { untested: 'credentials not tested' },
        })
      for (const { method, body, headers } of server.got) {
        expect(['HEAD', 'OPTIONS']).toContain(method)
        expect(body).toHaveLength(0)
        expect(headers.authorization).toBe('Bearer abcdef')
      }
    },
  )
})
