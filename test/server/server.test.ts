import { describe, expect, it, vi } from 'vitest'
import { createRoutes } from '../../src/server/routes.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { parseExposition, valueOf } from '../telemetry/metrics/exposition.ts'
import { dial, serve, textOf } from './client.ts'
import { story } from './page/story.ts'
import { viewsOf } from './page/world.ts'

describe('the server', () => {
  it('serves the four paths', async () => {
    const { get, address, emitted } = await serve()
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(emitted).toEqual([{ name: 'ServerListening', address }])
    const metrics = await get('/metrics')
    expect(metrics.status).toBe(200)
    expect(metrics.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    const labels = { zone: '101', sink: 'siem' }
    expect(valueOf(parseExposition(metrics.body), 'shieldlog_events_delivered_total', labels)).toBe(0)
    for (const [path, value] of [
      ['/healthz', { healthy: true, loops: [] }],
      ['/readyz', { ready: true, reasons: [] }],
      ['/status', { zones: [] }],
      ['/status?verbose=1', { zones: [] }],
    ] as const) {
      const answer = await get(path)
      expect([path, answer.status, JSON.parse(answer.body)]).toEqual([path, 200, value])
      expect(answer.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    }
  })

  it('answers HEAD without a body', async () => {
    const { get } = await serve()
    const { body } = await get('/healthz')
    const head = await get('/healthz', { method: 'HEAD' })
    const length = String(body.length)
    expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-length': length } })
  })

  it('answers 404 for other paths, 405 for other methods, in JSON', async () => {
    const { get } = await serve()
    for (const path of [
      '/page',
      '/page/README.md',
      '/page/tsconfig.json',
      '/page/../server.ts',
      '/metrics/',
      '/METRICS',
      '//metrics',
      '/../metrics',
      '/%6detrics',
      '/<script>',
    ]) {
      const answer = await get(path)
      expect([path, answer.status]).toEqual([path, 404])
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'not found' })
      expect(answer.body).not.toContain('script')
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH']) {
      const answer = await get('/metrics', { method })
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'GET, HEAD'])
      expect(JSON.parse(answer.body)).toHaveProperty('error')
    }
  })

  it('serves the page with a policy that allows nothing inline and no other host', async () => {
    const { get } = await serve()
    const page = await get('/')
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|http|\*/)
    expect(page.body).not.toMatch(/<script(?! type="module" src="\/page\/)|<style|\sstyle=|\son\w+=|https?:/)
    const files = [...page.body.matchAll(/(?:src|href)="(\/page\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(files.length).toBeGreaterThan(3)
    for (const path of files) {
      const file = await get(path)
      expect([path, file.status, file.headers['content-security-policy']]).toEqual([path, 200, policy])
    }
    expect(await get('/page/main.js', { method: 'POST' })).toMatchObject({ status: 405 })
  })

  it('answers the views of the page, and reports an invalid query', async () => {
    const { views } = viewsOf(story())
    const { get } = await serve({ views: () => views })
    const json = async (path: string) => {
      const { status, body } = await get(path)
      return { status, body: JSON.parse(body) as unknown }
    }
    expect(await json('/status?view=map&filter=shop')).toMatchObject({
      status: 200,
      body: { chosen: { routes: 2 } },
    })
    const day = '/status?view=day&zone=101&sink=siem&day='
    expect(await json(`${day}2026-11-20`)).toMatchObject({ status: 200, body: { state: 'failing' } })
    expect(await json(`${day}2026-10-01`)).toMatchObject({ status: 404 })
    expect(await json('/status?view=map&page=x')).toMatchObject({
      status: 400,
      body: { error: 'page "x" is not a whole number from 1 to 1000000' },
    })
  })

  it('answers 503 to views before the process has its store', async () => {
    const { get } = await serve()
    const body = '{"error":"the process is starting"}\n'
    expect(await get('/status?view=map')).toMatchObject({ status: 503, body })
  })

  it.each([
    ['/readyz', 4, '{"ready":false,"reasons":["no answer from the store within 4 s"]}\n'],
    ['/status', 15, '{"error":"no answer from the store within 15 s"}\n'],
    ['/status?view=map', 15, '{"error":"no answer from the store within 15 s"}\n'],
  ])('does not wait for a store that hangs: %s', async (path, seconds, body) => {
    const clock = createFakeClock()
    const hang = () => new Promise<never>(() => undefined)
    const views = { ...viewsOf(story()).views, map: hang }
    const { get } = await serve({ readiness: hang, status: hang, views: () => views }, clock)
    const answer = get(path)
    await clock.untilSleeping()
    await clock.advance(seconds * 1000)
    expect(await answer).toMatchObject({ status: 503, body })
    expect(clock.sleeping()).toBe(0)
  })

  it('answers 503 with the reasons, escaped', async () => {
    const loops = [{ loop: 'tick', secondsSinceTurn: 99, healthy: false }]
    const reasons = ['zone 101 → siem lags 1200 s', 'odd\n\u001b[2J\u009b\u202e']
    const { get } = await serve({
      health: () => ({ healthy: false, loops }),
      readiness: () => Promise.resolve({ ready: false, reasons }),
    })
    const answers = await Promise.all([get('/healthz'), get('/readyz')])
    expect(answers.map(({ status }) => status)).toEqual([503, 503])
    expect(answers.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { healthy: false, loops },
      { ready: false, reasons },
    ])
    expect(answers[1].body.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  it('answers although its callbacks throw', async () => {
    const fail = () => {
      throw new Error('store gone')
    }
    const metrics = { text: () => Promise.reject(new Error('no metrics')), contentType: 'text/plain' }
    const { get, emitted } = await serve({ health: fail, readiness: fail, status: fail, metrics })
    expect(await get('/readyz')).toMatchObject({
      status: 503,
      body: '{"ready":false,"reasons":["store gone"]}\n',
    })
    expect(await get('/status')).toMatchObject({ status: 503, body: '{"error":"store gone"}\n' })
    expect((await get('/healthz')).status).toBe(500)
    expect((await get('/metrics')).status).toBe(500)
    expect(emitted.filter(({ name }) => name === 'Warned')).toHaveLength(2)
  })

  it('reads the store once for parallel requests', async () => {
    const clock = createFakeClock()
    let reply: (value: unknown) => void = () => undefined
    const status = vi.fn(() => new Promise<unknown>((resolve) => (reply = resolve)))
    const routes = createRoutes({
      metrics: { text: () => Promise.resolve(''), contentType: 'text/plain' },
      health: () => ({ healthy: true, loops: [] }),
      readiness: () => ({ ready: true, reasons: [] }),
      status,
      views: () => undefined,
      clock,
    })
    const first = [1, 2, 3].map(async () => routes.get('/status')!.answer(true, new URLSearchParams()))
    await clock.untilSleeping()
    expect(status).toHaveBeenCalledTimes(1)
    reply({ n: 1 })
    for (const answer of first) expect(await textOf(await answer)).toBe('{"n":1}\n')
    const second = routes.get('/status')!.answer(true, new URLSearchParams())
    await clock.untilSleeping()
    expect(status).toHaveBeenCalledTimes(2)
    reply(undefined)
    expect(await textOf(await second)).toBe('null\n')
    expect(clock.sleeping()).toBe(0)
  })

  it('makes a long status no faster than the client reads it, and no more of it for a client that left', async () => {
    let [made, ended] = [0, false]
    function* routes() {
      try {
        for (;;) yield { route: ++made, text: 'x'.repeat(10_000) }
      } finally {
        ended = true
      }
    }
    const { port, emitted, get } = await serve({ status: () => Promise.resolve({ routes: routes() }) })
    const slow = await dial(port)
    slow.pause()
    slow.write('GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n')
    let before = -1
    await waitFor(
      async () => {
        const isStill = made > 0 && made === before
        before = made
        return isStill
      },
      { what: () => `an end of the making after ${made} routes`, everyMs: 200 },
    )
    expect(ended).toBe(false)
    slow.destroy()
    await waitFor(() => ended, { what: 'the end of the status' })
    expect(await get('/healthz')).toMatchObject({ status: 200 })
    expect(emitted.filter(({ name }) => name === 'Warned')).toEqual([])
  })

  it('ends the connection of a long status that fails on its way, and warns', async () => {
    function* routes() {
      for (let zone = 0; zone < 200; zone++) yield { zone }
      throw new Error('no more routes')
    }
    const { get, emitted } = await serve({ status: () => Promise.resolve({ routes: routes() }) })
    await expect(get('/status')).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(emitted).toContainEqual({ name: 'Warned', about: 'server', text: 'no answer: no more routes' })
    expect(await get('/healthz')).toMatchObject({ status: 200 })
  })
})
