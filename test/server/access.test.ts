import { once } from 'node:events'
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { Secret } from '../../src/domain/text/secret.ts'
import { exposureOf } from '../../src/server/server.ts'
import { matching } from '../telemetry/log-lines.ts'
import { serve } from './client.ts'
import { story } from './page/story.ts'
import { viewsOf } from './page/world.ts'

describe('the token', () => {
  const token = new Secret('s3cret-Token')

  it('is required by everything but the probes and the files of the page', async () => {
    const { get } = await serve({ token })
    for (const path of ['/healthz', '/readyz', '/', '/page/main.js'])
      expect((await get(path)).status).toBe(200)
    for (const path of [
      '/metrics',
      '/status',
      '/status?view=map',
      '/nothing',
      '/page/',
      '/healthz/..',
      '//healthz',
    ]) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers['www-authenticate']]).toEqual([path, 401, 'Bearer'])
      expect(answer.body).not.toContain('s3cret')
    }
    for (const authorization of ['Bearer s3cret-Token', 'bearer  s3cret-Token'])
      expect((await get('/metrics', { headers: { authorization } })).status).toBe(200)
    expect((await get('/nothing', { headers: { authorization: 'Bearer s3cret-Token' } })).status).toBe(404)
  })

  it.each([
    '/status',
    '/status?verbose=1',
    '/status?view=map',
    '/status?view=day&zone=107&sink=siem&day=2026-11-17',
    '/status?view=dead-letters&zone=107&sink=siem&day=2026-11-17',
    '/status?view=tail&zone=107',
  ])(
    'or an address instead of a host name is required for texts of events and destinations, which another site could read: %s',
    async (path) => {
      const { views } = viewsOf(story())
      // What a destination answered, with a value of the event that it refused.
      const status = () => Promise.resolve({ routes: [{ lastError: { text: 'field value: 198.18.47.1' } }] })
      const open = await serve({ status, views: () => views })
      const closed = await serve({ status, views: () => views, token })
      const asked = async (host: string) => (await open.get(path, { headers: { host } })).status
      for (const host of ['127.0.0.1:9871', 'localhost:1', '[::1]:9871'])
        expect([host, await asked(host)]).toEqual([host, 200])
      for (const host of ['evil.example:9871', '127.0.0.1.evil.example', 'localhost.evil.example']) {
        const { status: code, body } = await open.get(path, { headers: { host } })
        expect([host, code]).toEqual([host, 403])
        expect(body).toMatch(/^\{"error":"without server.token, \/status answers only /)
      }
      const headers = { host: 'waf.example', authorization: 'Bearer s3cret-Token' }
      expect((await closed.get(path, { headers })).status).toBe(200)
    },
  )

  it.each(['/metrics', '/healthz', '/readyz', '/'])('nor an address is required for %s', async (path) => {
    const { get } = await serve()
    expect((await get(path, { headers: { host: 'waf.example' } })).status).toBe(200)
  })

  it('is required for the reasons of /readyz, which name zones, sinks and errors', async () => {
    const readiness = () => ({ ready: false, reasons: ['zone 101 → siem lags 1200 s'] })
    const { get } = await serve({ token, readiness })
    const authorization = 'Bearer s3cret-Token'
    expect(await get('/readyz')).toMatchObject({ status: 503, body: '{"ready":false}\n' })
    expect(JSON.parse((await get('/readyz', { headers: { authorization } })).body)).toEqual(readiness())
    const fails = await serve({ token, readiness: () => Promise.reject(new Error('store gone')) })
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
    ['0.0.0.0', undefined, 1],
    ['0.0.0.0', token, 0],
    ['127.0.0.1', undefined, 0],
  ])('causes the warning when a server starts on %s', async (host, own, warnings) => {
    const { emitted } = await serve({ host, ...(own && { token: own }) })
    const warned = emitted.filter((each) => each.name === 'Warned')
    expect(warned).toHaveLength(warnings)
    for (const each of warned) expect(each).toMatchObject({ about: 'server', text: exposureOf(host, own) })
  })

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Bearer s3cret-Toke',
    'Bearer s3cret-Token2',
    'Basic s3cret-Token',
    's3cret-Token',
    'Bearer S3CRET-TOKEN',
    'Bearer ***',
  ])('is not %j', async (authorization) => {
    const { get } = await serve({ token })
    expect((await get('/status', { headers: { authorization } })).status).toBe(401)
  })

  it('allows no request while it is empty', async () => {
    const { get } = await serve({ token: new Secret('') })
    for (const authorization of ['', 'Bearer', 'Bearer '])
      expect((await get('/metrics', { headers: { authorization } })).status).toBe(401)
  })

  it('changes when it is read again', async () => {
    let value = 'one'
    const changing = new Secret('one', () => value)
    const { get } = await serve({ token: changing })
    value = 'two'
    changing.reread()
    expect((await get('/metrics', { headers: { authorization: 'Bearer one' } })).status).toBe(401)
    expect((await get('/metrics', { headers: { authorization: 'Bearer two' } })).status).toBe(200)
  })
})

describe('listening', () => {
  it('reports host, port and remedy if the port is in use', async () => {
    const taken = createTcpServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    try {
      const failure: unknown = await serve({ port }).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(Failure)
      expect(failure).toMatchObject({
        kind: 'stop',
        message: `cannot listen on 127.0.0.1:${port}: the port is in use by another process; set server.port to a free one, or to 0 to take any`,
      })
    } finally {
      taken.close()
    }
  })

  it.each(['203.0.113.7', 'no-such-host.invalid'])(
    'reports server.host if %s is not this host',
    async (host) => {
      const failure: unknown = await serve({ host }).catch((error: unknown) => error)
      expect(failure).toMatchObject({ kind: 'stop', message: matching(/server\.host/) })
    },
  )

  it('serves IPv6, printed so that it can be opened', async () => {
    const hasIpv6 = await new Promise<boolean>((resolve) => {
      const probe = createTcpServer()
      probe.once('error', () => resolve(false))
      probe.listen(0, '::1', () => probe.close(() => resolve(true)))
    })
    const served = await serve({ host: '::1' }).catch((error: unknown) => error)
    if (hasIpv6) expect(served).toMatchObject({ address: matching(/^http:\/\/\[::1\]:\d+$/) })
    else expect(served).toMatchObject({ message: matching(/^cannot listen on \[::1\]:0: /) })
  })
})
