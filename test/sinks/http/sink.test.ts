import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { buildEvent, buildEvents } from '../../formats/events.ts'
import { pem } from '../../setup/tls.ts'
import { named } from '../internal-events.ts'
import {
  deliver,
  failureOf,
  format,
  type Got,
  inTurn,
  never,
  openStream,
  reply,
  type Respond,
  serve,
  ship,
  type SinkOptions,
} from './destination-server.ts'
import { dialects } from './presets/dialects.ts'

describe('the request', () => {
  it.each(['none', 'gzip', 'zstd'] as const)(
    'is one line per event, with compression %s',
    async (compression) => {
      const server = await serve(reply(200))
      const headers = { 'X-Tenant': new Secret('t-1') }
      const { sink, internalEvents } = ship(`${server.url}/in?tag=a`, { compression, headers })
      const events = [...buildEvents(5), buildEvent({ id: 'é\u2028😀', pop: 'a\nb' })]
      const delivery = await deliver(sink, events)
      const text = events.map((event) => `${format.encode(event)}\n`).join('')
      expect(server.got).toMatchObject([{ method: 'POST', path: '/in?tag=a', text }])
      const [got] = server.got as [Got]
      expect(got.headers).toMatchObject({
        'content-type': 'application/x-ndjson',
        'idempotency-key': createHash('sha256').update(text).digest('hex'),
        'user-agent': 'shieldlog/1.2.3',
        'x-tenant': 't-1',
        'content-length': String(got.body.length),
      })
      expect(got.headers['content-encoding']).toBe(compression === 'none' ? undefined : compression)
      expect(got.headers['transfer-encoding']).toBeUndefined()
      expect(delivery).toMatchObject({ refusals: [], committed: [] })
      const told = { sink: 'siem', outcome: 'ok', bytes: delivery.bytes }
      expect(named(internalEvents, 'SinkAnswered')).toMatchObject([told])
    },
  )

  it('keeps back a body that is not full while more events follow, unless it is the only one', async () => {
    const server = await serve(reply(200))
    const { sink } = ship(server.url, { batch: { maxEvents: 2, maxBytes: 1_000_000 } })
    const events = buildEvents(5)
    const open = await openStream(sink)
    const first = await open.deliver(events.slice(0, 1), never, true)
    expect(first.partial).toBeUndefined()
    const second = await open.deliver(events, never, true)
    expect(second.partial).toEqual({ taken: events.slice(0, 4), failure: undefined })
    const ids = events.map(({ id }) => id)
    expect(server.got.map((got) => got.ids)).toEqual([ids.slice(0, 1), ids.slice(0, 2), ids.slice(2, 4)])
    expect((await open.deliver(events.slice(0, 4), never, true)).partial).toBeUndefined()
    expect((await open.deliver(events.slice(4), never, false)).partial).toBeUndefined()
  })

  it.each<[what: string, ageNow: (() => number | undefined) | undefined, sent: number]>([
    ['of this host where no other is named', undefined, 1],
    ['that is named, which is behind this host', () => Date.now() - 26 * 3_600_000, 2],
    ['that is not known: none is', () => undefined, 2],
  ])('leaves out what is too old for the destination by the time %s', async (_, ageNow, sent) => {
    const server = await serve(reply(202, '{}'))
    const limits = { maxEvents: 10, maxBytes: 1_000_000, maxAgeHours: 18 }
    const { sink } = ship(server.url, { batch: limits, preset: 'json' })
    const atHours = (hours: number) => {
      const timeMs = Date.now() - hours * 3_600_000
      return buildEvent({ id: `${hours}`, time: new Date(timeMs).toISOString(), timeMs })
    }
    const events = [atHours(1), atHours(30)]
    const stream = { zone: 101, day: '2026-11-20' as Day, sink: sink.name }
    const open = await sink.open(stream, { ...(ageNow && { ageNow }) }, never)
    const { skipped = [] } = await open.deliver(events, never)
    expect(server.got.flatMap(({ text }) => JSON.parse(text) as unknown[])).toHaveLength(sent)
    expect(skipped).toHaveLength(2 - sent)
  })

  it('is one array with the preset json, under a name that the headers give', async () => {
    const server = await serve(reply(202, '{}'))
    const { sink } = ship(server.url, { preset: 'json', headers: { 'User-Agent': 'waf/1' } })
    const events = buildEvents(3)
    await deliver(sink, events)
    const [{ text, headers }] = server.got as [Got]
    expect(text).toBe(`[${events.map((event) => format.encode(event)).join(',')}]`)
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'waf/1' })
  })

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
    let [now, most] = [0, 0]
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
    const ofZone = async (zone: number) =>
      (await openStream(sink, zone)).deliver(buildEvents(20, `z${zone}`), never)
    await Promise.all(Array.from({ length: 30 }, (_, zone) => ofZone(zone)))
    expect(most).toBeGreaterThan(1)
    expect(new Set(server.taken()).size).toBe(50 + 600)
  })
})

describe('an error of the sink', () => {
  it.each([402, 418])('is %i: one line without secrets, no second try', async (status) => {
    const server = await serve(reply(status, 'nope s3cr3t-token\nsecond line'))
    const { sink } = ship(`${server.url}/path/abcdefghijklmnopqrstuvwxyz?sig=s3cr3t-query`, {
      headers: { Authorization: new Secret('Bearer s3cr3t-token') },
    })
    const { message, ...failure } = await failureOf(deliver(sink, buildEvents(1000)))
    expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
    const answered = `sink siem (${server.url}) answered ${status} (nope *** second line): check`
    expect(message.slice(0, answered.length)).toBe(answered)
    expect(message).not.toMatch(/s3cr3t|abcdefgh|\n/)
    expect(server.got).toHaveLength(1)
    expect(sink.address).toBe(server.url)
  })

  it('is a redirect, which is not followed', async () => {
    const other = await serve(reply(200))
    const server = await serve(reply(308, '', { location: `${other.url}/in?sig=s3cr3t` }))
    const { message } = await failureOf(deliver(ship(server.url).sink, buildEvents(1)))
    expect(message).toContain(`answered 308 to ${other.url}: redirects are not followed`)
    expect(message).not.toContain('s3cr3t')
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

  it.each<[what: string, (url: string, secret: Secret) => SinkOptions]>([
    ['in a header', (_url, secret) => ({ headers: { Authorization: secret } })],
    [
      'for tokens',
      (url, secret) => ({ preset: 'sentinel', scope: 'x', ...dialects.sentinel!.settings(url, secret) }),
    ],
  ])('is not reported by any stream if the secret has changed: %s', async (_what, optionsFor) => {
    let held = 'old-secret'
    const server = await serve((got, response) => {
      const isNew = got.text.includes('new-secret') || got.headers.authorization?.includes('new-') === true
      response.writeHead(!isNew ? 401 : got.path.includes('/oauth2/') ? 200 : 204)
      response.end(got.path.includes('/oauth2/') ? '{"access_token":"new-token"}' : '')
    })
    const { sink } = ship(server.url, optionsFor(server.url, new Secret(held, () => held)))
    expect(await failureOf(deliver(sink, buildEvents(1)))).toMatchObject({ kind: 'stop' })
    expect(server.got).toHaveLength(1)
    held = 'new-secret'
    await Promise.all([1, 2, 3].map((zone) => deliver(sink, buildEvents(2, `z${zone}`))))
    expect(server.taken()).toHaveLength(6)
  })

  it.each([
    [401, 'ndjson', ''],
    [403, 'otlp', '/v1/logs'],
    [404, 'sumologic', ''],
    [410, 'json', ''],
  ])(
    '%d from %s is answered with the secret in the address, once its file has changed',
    async (status, preset, path) => {
      const code = (of: string) => `/in/code-of-${of}-which-is-long`
      const server = await serve((got, response) =>
        response.writeHead(got.path.includes('now') ? status : 200).end(status === 401 ? got.path : ''),
      )
      let current = 'now'
      const addressOf = () => server.url + code(current)
      const { sink } = ship(addressOf(), { preset, secretUrl: new Secret(addressOf(), addressOf) })
      const failure = await failureOf(deliver(sink, buildEvents(2)))
      expect([failure.kind, failure.message]).toEqual(['stop', expect.not.stringContaining('code-of')])
      current = 'later'
      for (let turn = 0; turn < 2; turn++)
        expect(await deliver(sink, buildEvents(2))).toMatchObject({ refusals: [] })
      expect(server.got.map((got) => got.path)).toEqual(
        ['now', 'now', 'later', 'later'].map((of) => code(of) + path),
      )
    },
  )

  it('shows the words of the address that a preset built, which are no secrets', async () => {
    const index = 'logs-bunny_shield.event-default'
    const server = await serve(reply(403, `no rights on indices [${index}]: errors, items`))
    const { sink } = ship(server.url, { preset: 'elasticsearch', index })
    const { message } = await failureOf(deliver(sink, buildEvents(1)))
    expect(message).toContain(`no rights on indices [${index}]: errors, items`)
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

describe('a destination in trouble', () => {
  const drip: Respond = (_got, response) => {
    const drops = setInterval(() => response.write('x'), 50)
    response.on('close', () => clearInterval(drops))
  }
  it.each<[string, Respond, isSilent?: true]>([
    ['a reset after the request', (_got, response) => response.socket!.resetAndDestroy()],
    [
      'a reset within the answer',
      (_got, response) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('{"took":', () => response.socket!.resetAndDestroy())
      },
    ],
    ['no answer', () => {}, true],
    ['no HTTP', (_got, response) => response.socket!.end('SSH-2.0-OpenSSH_9\r\n')],
    ['an answer that drips', drip, true],
    ['a time to come back that is over', reply(503, '', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' })],
  ])('gets the same bytes and key again: %s', async (_name, bad, isSilent) => {
    const server = await serve(inTurn(bad, reply(200)))
    const { sink } = ship(server.url, { timeoutSeconds: isSilent ? 0.8 : 60, compression: 'gzip' })
    expect((await deliver(sink, buildEvents(100))).refusals).toEqual([])
    // Where the machine is slow, a good answer may come too late as well.
    expect(server.got.length).toBeGreaterThanOrEqual(2)
    if (!isSilent) expect(server.got).toHaveLength(2)
    const [first, second] = server.got as [Got, Got]
    expect(second.body.equals(first.body)).toBe(true)
    expect(second.headers['idempotency-key']).toBe(first.headers['idempotency-key'])
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
    const slept: number[] = []
    const sleep = async (ms: number, signal: AbortSignal) =>
      ms === 5000 ? systemClock.sleep(ms, signal) : void slept.push(ms)
    // It stands still, so that no time passes between an answer and the wait for it.
    const clock: Clock = { ...systemClock, now: () => 0, monotonic: () => 0, sleep }
    await deliver(ship(server.url, {}, { clock }).sink, buildEvents(1))
    expect(slept).toContain(1000)
    expect(server.got).toHaveLength(2)
  })

  it('with a long wait fails for the pump, for every stream', async () => {
    const server = await serve(reply(503, '', { 'retry-after': '60' }))
    const { sink } = ship(server.url)
    for (const prefix of ['one', 'other'])
      expect(await failureOf(deliver(sink, buildEvents(1, prefix)))).toMatchObject({ kind: 'wait' })
    expect(server.got).toHaveLength(1)
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
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1_048_576, 'x')));
      }
      response.on('drain', more).on('error', () => {})
      more()
    })
    const { sink } = ship(server.url)
    expect((await deliver(sink, buildEvents(1))).refusals).toEqual([])
    expect(server.got).toHaveLength(1)
  })
})

describe('the sink', () => {
  it('ends a request at once when it is closed', async () => {
    const server = await serve(() => {})
    const { sink } = ship(server.url)
    const hanging = failureOf(deliver(sink, buildEvents(1)))
    await expect.poll(() => server.got.length).toBe(1)
    await sink.close()
    expect(await hanging).toMatchObject({ kind: 'cancelled' })
    expect(await failureOf(deliver(sink, buildEvents(1)))).toMatchObject({ kind: 'cancelled' })
  })
})

describe('refused content', () => {
  it('of a destination that stores nothing without a time is a dead letter, and is not sent', async () => {
    const server = await serve(reply(204))
    const { sink } = ship(server.url, {
      preset: 'loki',
      labels: {},
      hourLabel: true,
      structuredMetadata: false,
    })
    const { time: _time, timeMs: _timeMs, ...event } = buildEvent()
    const timeless = ['e', 'f'].map((id) => ({ ...event, id }))
    const [timed] = buildEvents(1)
    const { refusals, skipped } = await deliver(sink, [timed!, ...timeless])
    expect(refusals).toEqual(
      timeless.map((event) => ({
        event,
        reason: 'unmappable',
        answer: expect.stringContaining('has no time'),
      })),
    )
    expect([skipped, server.got.length]).toEqual([undefined, 1])
  })

  const poison =
    (ids: ReadonlySet<string>, status: number, text = ''): Respond =>
    (got, response) =>
      response.writeHead(got.ids.some((id) => ids.has(id)) ? status : 200).end(text)

  it.each([1, 7])(
    'counts if the store knows that the sink has accepted an event, also before this process sends one (%i events)',
    async (count) => {
      const server = await serve(reply(400, 'no'))
      const { sink } = ship(server.url)
      expect(await failureOf(deliver(sink, buildEvents(count)))).toMatchObject({ code: 'rejected' })
      const known = await (await openStream(sink, 101, true)).deliver(buildEvents(count), never)
      expect(known.refusals.map(({ event }) => event.id)).toEqual(buildEvents(count).map(({ id }) => id))
      // What is known of one stream says nothing of the others: there the sink is in doubt still.
      expect(await failureOf(deliver(sink, buildEvents(count)))).toMatchObject({ kind: expect.any(String) })
    },
  )

  it('of a single event with 413 needs no other event as evidence', async () => {
    const { sink } = ship((await serve(reply(413))).url)
    expect((await deliver(sink, buildEvents(1))).refusals).toMatchObject([{ reason: 'too_large' }])
    expect(await failureOf(deliver(sink, buildEvents(20)))).toMatchObject({
      kind: 'stop',
      code: 'sink_refuses',
    })
  })

  it('of few events by a sink that accepted none is decided by the next accepted one', async () => {
    const server = await serve(poison(new Set(['bad-0']), 400))
    const { sink } = ship(server.url)
    for (let round = 0; round < 10; round++)
      expect(await failureOf(deliver(sink, buildEvents(1, 'bad')))).toMatchObject({
        kind: 'retry',
        code: 'rejected',
      })
    await deliver(sink, buildEvents(1))
    expect((await deliver(sink, buildEvents(1, 'bad'))).refusals).toMatchObject([{ event: { id: 'bad-0' } }])
  })

  it('in small deliveries by a sink that accepted events before is an error of the sink after eight events', async () => {
    const server = await serve(reply(400))
    const { sink } = ship(server.url)
    const open = await openStream(sink, 101, true)
    for (let round = 0; round < 7; round++)
      expect((await open.deliver(buildEvents(1, `round-${round}`), never)).refusals).toHaveLength(1)
    for (let round = 7; round < 10; round++)
      expect(await failureOf(open.deliver(buildEvents(1, `round-${round}`), never))).toMatchObject({
        code: 'rejected',
      })
  })
})
