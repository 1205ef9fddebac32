import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { buildEvents } from '../../formats/events.ts'
import { pem } from '../../transport/listening.ts'
import { deliver, failureOf, reply, serve, ship } from './destination-server.ts'

describe('an error of the sink', () => {
  it.each([401, 402, 403, 404, 405, 406, 407, 410, 415, 418])(
    'is %i: one line, no second try',
    async (status) => {
      const server = await serve(reply(status, 'nope s3cr3t-token\nsecond line'))
      const { sink } = ship(`${server.url}/path/abcdefghijklmnopqrstuvwxyz?sig=s3cr3t-query`, {
        headers: { Authorization: new Secret('Bearer s3cr3t-token') },
      })
      const failure = await failureOf(deliver(sink, buildEvents(1000)))
      expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
      expect(failure.message).toMatch(
        new RegExp(
          `^sink siem \\(http://127.0.0.1:\\d+\\) answered ${status} \\(nope \\*\\*\\* second line\\): check`,
        ),
      )
      expect(failure.message).not.toMatch(/s3cr3t|abcdefgh|\n/)
      expect(server.got).toHaveLength(1)
      expect(sink.address).toBe(server.url)
    },
  )

  it.each([301, 302, 303, 307, 308])('is a redirect (%i), which is not followed', async (status) => {
    const other = await serve(reply(200))
    const server = await serve(reply(status, '', { location: `${other.url}/in?sig=s3cr3t` }))
    const failure = await failureOf(deliver(ship(server.url).sink, buildEvents(1)))
    expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
    expect(failure.message).toContain(`answered ${status} to ${other.url}: redirects are not followed`)
    expect(failure.message).not.toContain('s3cr3t')
    expect(other.got).toEqual([])
  })

  it('is a certificate of an unknown authority; the right one is confirmed', async () => {
    const server = await serve(reply(200), true)
    const failure = await failureOf(deliver(ship(server.url).sink, buildEvents(1)))
    expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
    expect(failure.message).toContain('cannot make a trusted connection')
    await deliver(ship(server.url, { tls: { ca: pem('ca.pem') } }).sink, buildEvents(1))
    expect(server.taken()).toEqual(['event-0'])
  })

  it.each([401, 403])('is not reported if the secret has changed (%i)', async (status) => {
    let held = 'Bearer old-secret'
    const secret = new Secret(held, () => held)
    let accepted = 'Bearer new-secret'
    const server = await serve((got, response) =>
      response.writeHead(got.headers.authorization === accepted ? 200 : status).end(),
    )
    const { sink } = ship(server.url, { headers: { Authorization: secret } })
    expect(await failureOf(deliver(sink, buildEvents(1)))).toMatchObject({ kind: 'stop' })
    expect(server.got).toHaveLength(1)
    held = 'Bearer new-secret'
    await Promise.all([1, 2, 3].map((zone) => deliver(sink, buildEvents(2, `z${zone}`))))
    expect(server.taken()).toHaveLength(6)
    expect(server.got.at(-1)!.headers['idempotency-key']).toBeDefined()
    held = 'Bearer bad\r\nX-Forged: 1'
    accepted = 'Bearer third-secret'
    const failure = await failureOf(deliver(sink, buildEvents(1)))
    expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
    expect(failure.message).toContain('the value of authorization')
    expect(failure.message).not.toContain('Forged')
    held = 'Bearer third-secret'
    await deliver(sink, buildEvents(1, 'after'))
  })

  it('shows the words of the address that a preset built, which are no secrets', async () => {
    const server = await serve(
      reply(403, 'no rights on indices [logs-bunny_shield.event-default]: errors, items'),
    )
    const { sink } = ship(server.url, {
      preset: 'elasticsearch',
      index: 'logs-bunny_shield.event-default',
    })
    const failure = await failureOf(deliver(sink, buildEvents(1)))
    expect(failure.message).toContain('no rights on indices [logs-bunny_shield.event-default]: errors, items')
  })

  it('is not reported by any stream if the secret for tokens has changed', async () => {
    let held = 'old-secret'
    const clientSecret = new Secret(held, () => held)
    const server = await serve((got, response) => {
      if (!got.path.includes('/oauth2/')) return response.writeHead(204).end()
      const isNew = new URLSearchParams(got.text).get('client_secret') === 'new-secret'
      return response.writeHead(isNew ? 200 : 401).end('{"access_token":"t0ken","error":"invalid_client"}')
    })
    const { sink } = ship(server.url, {
      preset: 'sentinel',
      ruleId: 'dcr-1',
      stream: 'Custom-Shield',
      tenantId: 't-1',
      clientId: 'c-1',
      scope: 'x/.default',
      loginUrl: server.url,
      clientSecret,
    })
    expect(await failureOf(deliver(sink, buildEvents(1)))).toMatchObject({ kind: 'stop' })
    held = 'new-secret'
    await Promise.all([1, 2, 3].map((zone) => deliver(sink, buildEvents(2, `z${zone}`))))
    expect(server.taken()).toHaveLength(6)
  })

  it('never shows a secret that the destination repeats', async () => {
    const token = 'abc"def/ghi+jkl=='
    const basic = Buffer.from('user:pa55word').toString('base64')
    const said = [
      token,
      encodeURIComponent(token),
      JSON.stringify(token),
      basic,
      'pa55word',
      'kéy-in-query',
      'é'.repeat(4000),
    ]
    const server = await serve((got, response) =>
      response.writeHead(got.ids.includes('bad-0') ? 400 : 200).end(said.join(' | ')),
    )
    const { sink } = ship(`${server.url}/?code=k%C3%A9y-in-query`, {
      headers: { 'X-Api-Key': token, Authorization: new Secret(`Basic ${basic}`) },
    })
    const { refusals } = await deliver(sink, [...buildEvents(1), ...buildEvents(1, 'bad')])
    const { answer } = refusals[0]!
    expect(answer).toMatch(/^\*\*\* \| \*\*\* \| "\*\*\*" \| \*\*\* \| \*\*\* \| \*\*\* \| é+$/)
    expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(4096)
    expect(Buffer.byteLength(answer)).toBeGreaterThan(4000)
  })
})
