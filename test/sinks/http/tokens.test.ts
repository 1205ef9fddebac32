import { describe, expect, it } from 'vitest'
import { cancelled } from '../../../src/domain/failure.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import { clientCredentials, createTokens } from '../../../src/sinks/http/tokens.ts'
import type { AskedElsewhere } from '../../../src/sinks/http/protocol/preset.ts'
import { failureOf, type Reply } from './destination-server.ts'

describe('an access token', () => {
  const client = {
    tokenUrl: new URL('https://login.example/t-1/oauth2/v2.0/token'),
    clientId: 'c-1',
    clientSecret: new Secret('s3cret'),
    scope: 'x/.default',
  }
  const tokensOf = (clientSecret: Secret) =>
    createTokens({
      secret: () => clientSecret.reveal(),
      request: (secret) => clientCredentials(client, { client_secret: secret }),
      remedy: 'check the tenant, the client and its secret',
    })
  function login(reply: (asked: AskedElsewhere, count: number) => Reply, clientSecret = client.clientSecret) {
    const asked: AskedElsewhere[] = []
    const authorise = tokensOf(clientSecret)
    const at = (nowMs: number, refused?: Record<string, string>) =>
      authorise({
        nowMs,
        ...(refused && { refused }),
        ask: async (request) => {
          asked.push(request)
          const { status, body, headers = {} } = reply(request, asked.length)
          return { status, headers, body: Buffer.from(JSON.stringify(body)) }
        },
      })
    return { asked, at }
  }
  const counted = (_asked: AskedElsewhere, count: number) => ({
    status: 200,
    body: { access_token: `t${count}`, expires_in: 3600 },
  })

  it('is shared by requests at the same time, and kept until shortly before it expires', async () => {
    const { asked, at } = login(counted)
    const made = await Promise.all([at(0), at(0), at(0)])
    expect(made).toEqual(Array.from({ length: 3 }, () => ({ authorization: 'Bearer t1' })))
    expect(await at(3_479_000)).toEqual({ authorization: 'Bearer t1' })
    expect(await at(3_480_000)).toEqual({ authorization: 'Bearer t2' })
    expect(new URLSearchParams(asked[0]!.body!.toString()).get('grant_type')).toBe('client_credentials')
    expect(asked).toHaveLength(2)
  })

  it('is requested again by the others when the stream that requested it is stopped', async () => {
    const authorise = tokensOf(client.clientSecret)
    const stop = Promise.withResolvers<never>()
    const body = Buffer.from('{"access_token":"t1"}')
    const from = (ask: Parameters<typeof authorise>[0]['ask']) => authorise({ nowMs: 0, ask })
    const stopped = failureOf(from(() => stop.promise))
    const others = [1, 2].map(() => from(async () => ({ status: 200, headers: {}, body })))
    stop.reject(cancelled())
    expect((await stopped).code).toBe('cancelled')
    expect(await Promise.all(others)).toEqual([1, 2].map(() => ({ authorization: 'Bearer t1' })))
  })

  it('is requested again once it was refused, but not for an older refusal', async () => {
    const { asked, at } = login(counted)
    const first = await at(0)
    expect(await at(1, first)).toEqual({ authorization: 'Bearer t2' })
    expect(await at(2, first)).toEqual({ authorization: 'Bearer t2' })
    expect(asked).toHaveLength(2)
  })

  it('is not requested by any stream before the time that the address of tokens named', async () => {
    const { asked, at } = login((request, count) =>
      count === 1 ? { status: 429, body: {}, headers: { 'retry-after': '120' } } : counted(request, count),
    )
    const failures = await Promise.all([at(0), at(0), at(1)].map(failureOf))
    for (const failure of [...failures, await failureOf(at(119_999))])
      expect(failure).toMatchObject({ kind: 'wait', code: 'throttled', details: { retryAt: 120_000 } })
    expect(asked).toHaveLength(1)
    expect(await at(120_000)).toEqual({ authorization: 'Bearer t2' })
  })

  it('is requested at once with another secret, also during such a pause', async () => {
    let held = 'first'
    const secret = new Secret(held, () => held)
    const { asked, at } = login(
      (request, count) =>
        count === 1 ? { status: 503, body: {}, headers: { 'retry-after': '120' } } : counted(request, count),
      secret,
    )
    expect(await failureOf(at(0))).toMatchObject({ kind: 'wait', code: 'server_error' })
    held = 'second'
    secret.reread()
    expect(await at(1)).toEqual({ authorization: 'Bearer t2' })
    const sent = asked.map(({ body }) => new URLSearchParams(body!.toString()).get('client_secret'))
    expect(sent).toEqual(['first', 'second'])
  })

  it('is asked for without showing the secret that was sent, even where the answer is cut within it or it was replaced', async () => {
    const sent = 'a-long-secret-of-the-client'
    let held = sent
    const secret = new Secret(held, () => held)
    const { at } = login(() => {
      held = 'the-next-secret'
      secret.reread()
      return { status: 401, body: { error_description: `${'x'.repeat(290)}${sent}` } }
    }, secret)
    const { message } = await failureOf(at(0))
    expect(message).toContain('xxx')
    expect(message).not.toContain(sent.slice(0, 6))
  })

  it('that is refused is an error of the sink, or a temporary one', async () => {
    const { at } = login((_asked, count) => ({
      status: count === 1 ? 401 : 503,
      body: {
        error: 'invalid_client',
        error_description: 'AADSTS7000215: Invalid client secret.\r\nTrace ID: x',
      },
    }))
    const refused = await failureOf(at(0))
    expect(refused).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
    expect(refused.message).toBe(
      'login.example answered 401 to the request for a token (invalid_client: AADSTS7000215: Invalid client secret. Trace ID: x): check the tenant, the client and its secret',
    )
    expect(await failureOf(at(1))).toMatchObject({ kind: 'retry', code: 'server_error' })
  })
})
