import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { buildEvents } from '../../formats/events.ts'
import { deliver, failureOf, inTurn, reply, serve, ship, type Respond } from './destination-server.ts'

describe('a destination in trouble', () => {
  const answers: [string, Respond][] = [
    ['500', reply(500, 'oops')],
    ['408', reply(408)],
    ['a reset after the request', (_got, response) => response.socket!.resetAndDestroy()],
    [
      'a reset within the answer',
      (_got, response) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('{"took":', () => response.socket!.resetAndDestroy())
      },
    ],
    ['no answer', () => {}],
    ['no HTTP', (_got, response) => response.socket!.end('SSH-2.0-OpenSSH_9\r\n')],
    [
      'an answer that drips',
      (_got, response) => {
        const drip = setInterval(() => response.write('x'), 50)
        response.on('close', () => clearInterval(drip))
      },
    ],
    ['a time to come back that is over', reply(503, '', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' })],
  ]
  const silent = ['no answer', 'an answer that drips']
  it.each(answers)('gets the same bytes and key again: %s', async (name, bad) => {
    const server = await serve(inTurn(bad, reply(200)))
    const isSilent = silent.includes(name)
    const { sink } = ship(server.url, { timeoutSeconds: isSilent ? 0.8 : 60, compression: 'gzip' })
    const { refusals } = await deliver(sink, buildEvents(100))
    expect(refusals).toEqual([])
    // Where the machine is slow, a good answer may come too late as well.
    expect(server.got.length).toBeGreaterThanOrEqual(2)
    if (!isSilent) expect(server.got).toHaveLength(2)
    expect(server.got[1]!.body.equals(server.got[0]!.body)).toBe(true)
    expect(server.got[1]!.headers['idempotency-key']).toBe(server.got[0]!.headers['idempotency-key'])
  })

  it.each([
    ['a reset', ((_got, response) => response.socket!.resetAndDestroy()) satisfies Respond, 'network'],
    ['silence', (() => {}) satisfies Respond, 'timeout'],
    ['half an answer', ((_got, response) => response.write('x')) satisfies Respond, 'timeout'],
    ['a time that is over', reply(503, '', { 'retry-after': '0' }), 'server_error'],
  ])('fails for the pump after three tries: %s', async (name, bad, code) => {
    const server = await serve(bad)
    const { sink } = ship(server.url, { timeoutSeconds: 0.2 })
    const failure = await failureOf(deliver(sink, buildEvents(3)))
    expect(failure).toMatchObject({ kind: 'retry', code })
    expect(failure.message).toContain(`sink siem (${server.url})`)
    // Two events alone tell a destination in trouble from a body that it cannot take.
    expect(server.got).toHaveLength(name === 'a reset' ? 5 : 3)
  })

  it('that closes idle connections under a request loses nothing', async () => {
    const server = await serve((_got, response) => response.end(() => response.socket!.destroy()))
    const { sink } = ship(server.url)
    for (let round = 0; round < 20; round++) await deliver(sink, buildEvents(1, `round-${round}`))
    expect(new Set(server.taken()).size).toBe(20)
  })

  it('with a short wait in seconds is waited for', async () => {
    const server = await serve(inTurn(reply(429, '', { 'retry-after': '1' }), reply(200)))
    const { sink } = ship(server.url)
    const startedMs = performance.now()
    await deliver(sink, buildEvents(1))
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990)
    expect(server.got).toHaveLength(2)
  })

  it.each([
    ['seconds', () => '60'],
    ['a date', () => new Date(Date.now() + 60_000).toUTCString()],
  ])('with a long wait as %s fails for the pump, for every stream', async (_name, header) => {
    for (const status of [429, 503]) {
      const earliestMs = Date.now() + 60_000
      const server = await serve(reply(status, '', { 'retry-after': header() }))
      const { sink } = ship(server.url)
      const failure = await failureOf(deliver(sink, buildEvents(1)))
      expect(failure).toMatchObject({ kind: 'wait', code: status === 429 ? 'throttled' : 'server_error' })
      // A date is in whole seconds, and so is the one of the server's clock that it is held against.
      expect(failure.details.retryAt).toBeGreaterThan(earliestMs - 2_500)
      expect(failure.details.retryAt).toBeLessThan(Date.now() + 60_000 + 2_500)
      expect(await failureOf(deliver(sink, buildEvents(1, 'other')))).toMatchObject({ kind: 'wait' })
      expect(server.got).toHaveLength(1)
    }
  })

  it('ends at once when the pump is stopped', async () => {
    const server = await serve(() => {})
    const { sink } = ship(server.url, { timeoutSeconds: 60 })
    const stop = new AbortController()
    const hanging = failureOf(deliver(sink, buildEvents(1), stop.signal))
    await expect.poll(() => server.got.length).toBe(1)
    stop.abort()
    expect(await hanging).toMatchObject({ kind: 'cancelled' })
    expect(await failureOf(deliver(sink, buildEvents(1), stop.signal))).toMatchObject({ kind: 'cancelled' })
  })

  it('ends a wait between two tries at once', async () => {
    const server = await serve(reply(503))
    const forAnHour: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(3_600_000, signal) }
    const { sink } = ship(server.url, {}, { random: () => 0.999_999, clock: forAnHour })
    const stop = new AbortController()
    const waiting = failureOf(deliver(sink, buildEvents(1), stop.signal))
    await expect.poll(() => server.got.length, { interval: 5 }).toBe(1)
    stop.abort()
    expect(await waiting).toMatchObject({ kind: 'cancelled' })
  })

  it('reads a bounded part of an answer, and keeps the acknowledgement', async () => {
    const server = await serve((_got, response) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(1_048_576, 'x')
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', more)
      response.on('error', () => {})
      more()
    })
    const { sink } = ship(server.url)
    expect((await deliver(sink, buildEvents(1))).refusals).toEqual([])
    expect(server.got).toHaveLength(1)
  })
})
