import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/domain/text/secret.ts'
import { exposureOf } from '../../src/server/server.ts'
import { matching } from '../telemetry/log-lines.ts'
import { serve } from './client.ts'

const token = new Secret('s3cret-Token')
const withToken = { authorization: 'Bearer s3cret-Token' }

describe('the token', () => {
  it('is required by everything but the probes and the files of the page', async () => {
    const { get } = await serve({ token })
    for (const path of ['/healthz', '/readyz', '/', '/page/page.js'])
      expect((await get(path)).status).toBe(200)
    const closed = ['/metrics', '/status', '/nothing', '/page/', '/healthz/..', '//healthz']
    for (const path of closed) {
      const { status, headers, body } = await get(path)
      expect([path, status, headers['www-authenticate']]).toEqual([path, 401, 'Bearer'])
      expect(body).not.toContain('s3cret')
    }
    for (const authorization of [withToken.authorization, 'bearer  s3cret-Token'])
      expect((await get('/metrics', { headers: { authorization } })).status).toBe(200)
    expect((await get('/nothing', { headers: withToken })).status).toBe(404)
  })

  it('or an address in place of a host name is required for texts of events and destinations, which another site could read', async () => {
    const own = { status: () => Promise.resolve({ routes: [] }) }
    const [open, closed] = [await serve(own), await serve({ ...own, token })]
    const statusFor = async (path: string, host: string) =>
      (await open.get(path, { headers: { host } })).status
    for (const path of ['/status', '/status?verbose=1']) {
      for (const host of ['127.0.0.1:9871', 'localhost:1', '[::1]:9871'])
        expect([path, await statusFor(path, host)]).toEqual([path, 200])
      for (const host of ['evil.example:9871', '127.0.0.1.evil.example', 'localhost.evil.example'])
        expect([path, host, await statusFor(path, host)]).toEqual([path, host, 403])
      const headers = { host: 'waf.example', ...withToken }
      expect((await closed.get(path, { headers })).status).toBe(200)
    }
    expect((await open.get('/status', { headers: { host: 'waf.example' } })).body).toMatch(
      /^\{"error":"without server.token, \/status answers only /,
    )
    for (const path of ['/metrics', '/healthz', '/readyz', '/'])
      expect(await statusFor(path, 'waf.example')).toBe(200)
  })

  it('is required for the reasons of /readyz, which name zones, sinks and errors', async () => {
    const reasons = ['zone 101 → siem lags 1200 s']
    const { get } = await serve({ token, notReady: async () => reasons })
    expect(await get('/readyz')).toMatchObject({ status: 503, body: '{"ready":false}\n' })
    expect(JSON.parse((await get('/readyz', { headers: withToken })).body)).toEqual({
      ready: false,
      reasons,
    })
    const fails = await serve({ token, notReady: () => Promise.reject(new Error('store gone')) })
    expect(await fails.get('/readyz')).toMatchObject({ status: 503, body: '{"ready":false}\n' })
  })

  it.each([
    ...['0.0.0.0', '::', '10.0.0.4', 'shipper.example'].map((host) => [host, true] as const),
    ...['127.0.0.1', '127.8.0.1', '::1', 'localhost'].map((host) => [host, false] as const),
  ])('is missed, with a warning, where others can reach %s: %s', (host, isMissed) => {
    expect(exposureOf(host, undefined)?.includes('server.tokenFile') ?? false).toBe(isMissed)
    expect(exposureOf(host, token)).toBeUndefined()
  })

  it.each([
    ['s3cret-Token', 'Bearer s3cret-Toke'],
    ['s3cret-Token', 'Bearer s3cret-Token2'],
    ['s3cret-Token', 'Basic s3cret-Token'],
    ['s3cret-Token', 's3cret-Token'],
    ['s3cret-Token', 'Bearer S3CRET-TOKEN'],
    ['s3cret-Token', 'Bearer ***'],
    // An empty one allows no request.
    ...['s3cret-Token', ''].flatMap((own) => ['', 'Bearer', 'Bearer '].map((sent) => [own, sent])),
  ])('%j is not sent by %j', async (own, authorization) => {
    const { get } = await serve({ token: new Secret(own) })
    expect((await get('/status', { headers: { authorization } })).status).toBe(401)
  })
})

describe('listening', () => {
  it('reports host, port and remedy where it cannot listen', async () => {
    const { port } = await serve()
    await expect(serve({ port })).rejects.toMatchObject({
      kind: 'stop',
      message: `cannot listen on 127.0.0.1:${port}: the port is in use by another process; set server.port to a free one, or to 0 to take any`,
    })
    for (const host of ['203.0.113.7', 'no-such-host.invalid'])
      await expect(serve({ host })).rejects.toMatchObject({ kind: 'stop', message: matching(/server\.host/) })
  })

  it('serves IPv6, printed so that it can be opened', async () => {
    // Where the host has it.
    const served = await serve({ host: '::1' }).catch((error: unknown) => error)
    expect(served).toMatchObject(
      served instanceof Error
        ? { message: matching(/^cannot listen on \[::1\]:0: /) }
        : { address: matching(/^http:\/\/\[::1\]:\d+$/) },
    )
  })
})
