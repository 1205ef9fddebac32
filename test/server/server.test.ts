import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { parseExposition, valueOf } from '../telemetry/metrics/exposition.ts'
import { dial, serve } from './client.ts'
import { story } from '../page/story.ts'
import { viewsOf } from '../page/world.ts'

const refusal = (error: string) => `${JSON.stringify({ error })}\n`
const { views } = viewsOf(story())

describe('the server', () => {
  it('serves the four paths, and HEAD without a body', async () => {
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
      const { status, body, headers } = await get(path)
      expect([path, status, JSON.parse(body)]).toEqual([path, 200, value])
      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    }
    expect(await get('/healthz', { method: 'HEAD' })).toMatchObject({
      status: 200,
      body: '',
      headers: { 'content-length': String((await get('/healthz')).body.length) },
    })
  })

  it.each<[method: string, path: string, status: number]>([
    ...['/page', '/page/README.md', '/page/status-page.ts', '/page/../server.ts', '/metrics/', '/METRICS']
      .concat('//metrics', '/../metrics', '/%6detrics', '/<script>')
      .map((path): [string, string, number] => ['GET', path, 404]),
    ...['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH'].map((method): [string, string, number] => [
      method,
      '/metrics',
      405,
    ]),
    ['POST', '/page/page.js', 405],
  ])('%s %s is answered %i, in JSON', async (method, path, status) => {
    const { get } = await serve()
    const answer = await get(path, { method })
    expect([answer.status, answer.headers.allow]).toEqual([status, status === 405 ? 'GET, HEAD' : undefined])
    expect(JSON.parse(answer.body)).toHaveProperty('error')
    expect(answer.body).not.toContain('script')
  })

  it('serves the page with a policy that allows nothing inline and no other host', async () => {
    const { get } = await serve()
    const page = await get('/')
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|http|\*/)
    expect(page.body).not.toMatch(
      /<script(?! type="module" src="page\/)|<style|\sstyle=|\son\w+=|https?:|(?:src|href)="\//,
    )
    const files = [...page.body.matchAll(/(?:src|href)="(page\/[^"]+)"/g)].map(([, path]) => `/${path}`)
    expect(files.length).toBeGreaterThan(3)
    for (const path of files) {
      const file = await get(path)
      expect([path, file.status, file.headers['content-security-policy']]).toEqual([path, 200, policy])
    }
  })

  it.each([
    ['filter=shop', 200, '2 routes'],
    ['zone=101&to=siem&day=2026-11-20', 200, 'id="day-title"'],
    ['zone=101&to=siem&day=2026-10-01', 200, 'No such day'],
    ['page=x', 400, 'Page &quot;x&quot; is not a whole number from 1 to 1000000.'],
  ])('answers the page with %s with %i', async (query, status, text) => {
    const { get } = await serve({ views: () => views })
    const answer = await get(`/?${query}`)
    expect(answer.status).toBe(status)
    expect(answer.body).toContain(text)
  })

  it.each([
    ['/readyz', 4, '{"ready":false,"reasons":["no answer from the state within 4 s"]}\n'],
    ['/status', 15, refusal('no answer from the state within 15 s')],
    ['/', 15, expect.stringContaining('No answer from the state within 15 s.')],
  ])('does not wait for a state that hangs: %s', async (path, seconds, body) => {
    const clock = createFakeClock()
    const hang = () => new Promise<never>(() => undefined)
    const { get } = await serve(
      { notReady: hang, status: hang, views: () => ({ ...views, map: hang }) },
      clock,
    )
    const answer = get(path)
    await clock.untilSleeping()
    await clock.advance(seconds * 1000)
    expect(await answer).toMatchObject({ status: 503, body })
    expect(clock.sleeping()).toBe(0)
  })

  const loops = [{ loop: 'tick', secondsSinceTurn: 99, healthy: false }]
  const reasons = ['zone 101 → siem lags 1200 s', 'odd\n\u001b[2J\u009b\u202e']

  it('answers 503 with the reasons, escaped, and before it has its store', async () => {
    const { get } = await serve({
      health: () => ({ healthy: false, loops }),
      notReady: async () => reasons,
    })
    for (const [path, value] of [
      ['/healthz', { healthy: false, loops }],
      ['/readyz', { ready: false, reasons }],
    ] as const) {
      const { status, body } = await get(path)
      expect([status, JSON.parse(body)]).toEqual([503, value])
      expect(body.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    }
  })

  it('answers although its callbacks throw', async () => {
    const fail = () => {
      throw new Error('store gone')
    }
    const metrics = { text: fail, contentType: 'text/plain' }
    const { get, emitted } = await serve({
      health: fail,
      notReady: async () => fail(),
      status: fail,
      metrics,
    })
    for (const [path, status, body] of [
      ['/readyz', 503, '{"ready":false,"reasons":["store gone"]}\n'],
      ['/status', 503, refusal('store gone')],
      ['/healthz', 500, refusal('internal error; see the log')],
      ['/metrics', 500, refusal('internal error; see the log')],
    ] as const)
      expect(await get(path)).toMatchObject({ status, body })
    expect(emitted.filter(({ name }) => name === 'Warned')).toHaveLength(2)
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
    await expect.poll(() => ended).toBe(true)
    expect(await get('/healthz')).toMatchObject({ status: 200 })
    expect(emitted.filter(({ name }) => name === 'Warned')).toEqual([])
  })
})
