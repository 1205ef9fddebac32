import { Agent } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { ask, closed, dial, serve } from './client.ts'

describe('stopping', () => {
  it('is safe twice, and at once', async () => {
    const { server, get } = await serve()
    await Promise.all([server.stop(), server.stop()])
    await server.stop()
    await expect(get('/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('closes connections that are kept alive at once', async () => {
    const clock = createFakeClock()
    const { server, port } = await serve({}, clock)
    const agent = new Agent({ keepAlive: true })
    await ask({ host: '127.0.0.1', port, path: '/healthz', agent })
    await server.stop()
    agent.destroy()
    expect(clock.sleeping()).toBe(0)
  })

  it('waits a moment for an answer in progress', async () => {
    const clock = createFakeClock()
    let finish: (value: object) => void = () => undefined
    const status = vi.fn(() => new Promise<object>((resolve) => (finish = resolve)))
    const { server, get } = await serve({ status }, clock)
    const answered = get('/status')
    await expect.poll(() => status).toHaveBeenCalled()
    const stopped = server.stop()
    finish({ fine: true })
    expect((await answered).body).toBe('{"fine":true}\n')
    await stopped

    const again = await serve({ status }, clock)
    const cut = again.get('/status').catch((error: unknown) => error)
    await expect.poll(() => status).toHaveBeenCalledTimes(2)
    const ended = again.server.stop()
    await clock.untilSleeping(2)
    await clock.advance(500)
    await ended
    expect(await cut).toMatchObject({ code: 'ECONNRESET' })
    finish({})
  })
})

describe('slow and broken clients', () => {
  it('does not wait for a request that never ends, nor for one that never begins', async () => {
    const clock = createFakeClock()
    const { server, port, get } = await serve({}, clock)
    const silent = await dial(port)
    const slow = await dial(port)
    slow.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    expect((await get('/healthz')).status).toBe(200)
    const both = Promise.all([closed(silent), closed(slow)])
    const sleep = vi.spyOn(clock, 'sleep')
    await server.stop()
    await both
    expect(sleep).not.toHaveBeenCalled()
  })

  it('ends a request whose head takes longer than five seconds', async () => {
    const { port } = await serve()
    const slow = await dial(port)
    let answer = ''
    slow.on('data', (chunk) => (answer += String(chunk)))
    slow.write('GET /healthz HTTP/1.1\r\nHost: x\r\n')
    await closed(slow)
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
  })

  it.each([
    ['do not end their request', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['do not read a long answer', 'GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ])(
    'answers probes, and goes on with an answer, while more clients than it keeps %s',
    async (_, request) => {
      let finish: (text: string) => void = () => undefined
      function* routes() {
        for (;;) yield { text: 'x'.repeat(10_000) }
      }
      const text = vi.fn(() => new Promise<string>((resolve) => (finish = resolve)))
      const status = () => Promise.resolve({ routes: routes() })
      // On its clock no answer comes too late, however slow the machine is.
      const metrics = { text, contentType: 'text/plain' }
      const { port, get } = await serve({ status, metrics }, createFakeClock())
      const answer = get('/metrics')
      await expect.poll(() => text).toHaveBeenCalled()
      for (const socket of await Promise.all(Array.from({ length: 260 }, () => dial(port)))) {
        socket.pause()
        socket.write(request)
      }
      for (let probe = 0; probe < 5; probe++) expect((await get('/healthz')).status).toBe(200)
      finish('fine')
      expect((await answer).status).toBe(200)
    },
  )

  it('survives invalid requests, huge headers and clients that disconnect', async () => {
    const { port, get } = await serve()
    for (const text of [
      '\u0000\u0001\u0002\r\n\r\n',
      'GET /healthz\r\n\r\n',
      `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`,
    ]) {
      const socket = await dial(port)
      socket.resume()
      socket.write(text)
      await closed(socket)
    }
    for (let index = 0; index < 20; index++) {
      const socket = await dial(port)
      socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
      socket.destroy()
    }
    expect((await get('/healthz')).status).toBe(200)
  })
})
