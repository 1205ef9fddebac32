import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Day } from '../../../src/domain/day.ts'
import { createCefFormat } from '../../../src/formats/cef.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import type { Sink } from '../../../src/ports/delivery.ts'
import { createSyslogSink, type SyslogSinkOptions } from '../../../src/sinks/syslog/sink.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { buildEvent, buildEvents } from '../../formats/events.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { pem } from '../../setup/tls.ts'
import { failureOf, never } from '../http/destination-server.ts'
import { receiver, textOf, type SyslogReceiver } from './receiver.ts'

const format = createCefFormat()
const serverTls = { key: pem('server.key'), cert: pem('server.pem') }
const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function started(options: Parameters<typeof receiver>[0] = {}): Promise<SyslogReceiver> {
  const server = await receiver(options)
  open.push(server)
  return server
}

function sinkTo(port: number, more: Partial<SyslogSinkOptions> = {}, deps = { format }): Sink {
  const options = { name: 'siem', host: '127.0.0.1', port, protocol: 'tcp', hostname: 'shield' } as const
  const sink = createSyslogSink(
    { ...options, framing: 'octet', maxMessageBytes: 65_536, timeoutSeconds: 10, ...more },
    { ...deps, clock: systemClock, random: () => 0 },
  )
  open.push(sink)
  return sink
}

async function deliver(sink: Sink, events = buildEvents(2), signal = never) {
  const stream = await sink.open({ zone: 101, day: '2025-11-20' as Day, sink: sink.name }, {}, signal)
  return await stream.deliver(events, signal)
}

describe('a message', () => {
  it('has the time of the event, the severity and the host name, with octet counting', async () => {
    const server = await started()
    const { time: _time, ...timeless } = buildEvent({ severity: 'none of these' })
    const events = [
      buildEvent({ severity: 'critical', action: 'ü' }),
      buildEvent({ severity: 'notice', time: '2025-11-20T10:11:12.123456789Z' }),
      timeless,
    ]
    await deliver(sinkTo(server.port), events)
    await waitFor(() => server.messages.length === 3, { what: 'three messages' })
    expect(server.messages.map((message) => message.slice(0, message.indexOf('CEF')))).toEqual([
      '<130>1 2025-11-20T10:11:12.123Z shield shieldlog - - - ',
      '<133>1 2025-11-20T10:11:12.123456Z shield shieldlog - - - ',
      '<134>1 - shield shieldlog - - - ',
    ])
    expect(server.messages.map(textOf)).toEqual(events.map(format.encode))
  })

  it.each([
    ['octet', format],
    ['newline', format],
    ['octet', createNativeFormat()],
    ['newline', createNativeFormat()],
  ] as const)(
    'with framing %s keeps its borders, whatever a client sends ($1.name)',
    async (framing, format) => {
      const server = await started({ framing })
      const texts = [
        'a\nb',
        '\r\n',
        '\n<134>1 - forged shieldlog - - - x\n',
        '12 <134>1',
        '\u0000\u2028',
        '\\n',
        'ü',
      ]
      const events = texts.flatMap((text, nth) => [
        buildEvent({ id: `value-${nth}`, match: { value: text } }),
        buildEvent({ id: text, action: text, rule: { id: text, message: text }, log: { text } }),
      ])
      await deliver(sinkTo(server.port, { framing }, { format }), events)
      await waitFor(() => server.messages.length >= events.length, { what: 'all messages' })
      expect(server.messages.map(textOf)).toEqual(events.map(format.encode))
      expect(server.rest()).toBe(0)
    },
  )

  it('that is too long for the receiver makes its event a dead letter, and no other one', async () => {
    const server = await started()
    const long = buildEvent({ id: 'long', match: { value: 'x'.repeat(3000) } })
    const { refusals } = await deliver(sinkTo(server.port, { maxMessageBytes: 2000 }), [buildEvent(), long])
    expect(refusals).toMatchObject([{ event: { id: 'long' }, reason: 'too_large' }])
    expect(refusals[0]!.answer).toMatch(/^the message has 3\d{3} bytes, and maxMessageBytes is 2000$/)
    await waitFor(() => server.messages.length === 1, { what: 'a message' })
  })
})

describe('a connection', () => {
  it('is used for all deliveries', async () => {
    const server = await started()
    const sink = sinkTo(server.port)
    for (const prefix of ['a', 'b', 'c']) await deliver(sink, buildEvents(2, prefix))
    await waitFor(() => server.messages.length === 6, { what: 'six messages' })
    expect(server.sockets.size).toBe(1)
  })

  it('that the receiver has half-closed is not written to again', async () => {
    const server = await started()
    const sink = sinkTo(server.port)
    await deliver(sink, buildEvents(1, 'a'))
    await waitFor(() => server.messages.length === 1, { what: 'a message' })
    const [first] = server.sockets
    first!.end()
    await waitFor(() => server.sockets.size === 0, { what: 'the end of the connection' })
    await deliver(sink, buildEvents(1, 'b'))
    await waitFor(() => server.messages.length === 2, { what: 'a message over a new connection' })
    expect(server.rest()).toBe(0)
  })

  it('that breaks during a delivery fails it as a whole: it is sent again', async () => {
    const server = await started()
    const sink = sinkTo(server.port, {}, native)
    server.pause()
    const failing = failureOf(deliver(sink, manyLarge('lost')))
    await waitFor(() => server.sockets.size === 1, { what: 'a connection' })
    for (const socket of server.sockets) socket.resetAndDestroy()
    expect(await failing).toMatchObject({ kind: 'retry', code: 'network' })
    server.resume()
    await deliver(sink, buildEvents(2, 'kept'))
    await waitFor(() => server.messages.length === 2, { what: 'the messages after it' })
  })

  it('to a receiver that accepts nothing fails after the time limit', async () => {
    const server = await started()
    server.pause()
    const failure = await failureOf(
      deliver(sinkTo(server.port, { timeoutSeconds: 0.2 }, native), manyLarge('x')),
    )
    expect(failure).toMatchObject({ kind: 'retry', code: 'timeout' })
    expect(failure.message).toContain('the receiver did not take the events within 0.2 s')
  })

  it('ends a delivery at once when it is stopped', async () => {
    const server = await started()
    server.pause()
    const abort = new AbortController()
    const stopped = failureOf(deliver(sinkTo(server.port, {}, native), manyLarge('x'), abort.signal))
    await waitFor(() => server.sockets.size === 1, { what: 'a connection' })
    abort.abort()
    expect(await stopped).toMatchObject({ kind: 'cancelled' })
  })

  it('that was refused is not tried again before a back-off has passed', async () => {
    const server = await receiver()
    await server.close()
    const options = { name: 'siem', host: '127.0.0.1', port: server.port, protocol: 'tcp' } as const
    const clock = createFakeClock(1_000)
    const sink = createSyslogSink(
      { ...options, framing: 'octet', hostname: 'shield', maxMessageBytes: 65_536, timeoutSeconds: 10 },
      { format, clock, random: () => 0.5 },
    )
    open.push(sink)
    expect(await failureOf(deliver(sink))).toMatchObject({ kind: 'retry', code: 'network' })
    expect(await failureOf(deliver(sink))).toMatchObject({ kind: 'wait', details: { retryAt: 1_500 } })
    // A clock that is set back does not make the back-off longer.
    clock.jump(-3_600_000)
    await clock.advance(500)
    const failure = await failureOf(deliver(sink))
    expect(failure.kind).toBe('retry')
    expect(failure.message).toBe(
      `sink siem (tcp://127.0.0.1:${server.port}): cannot connect: connection refused (ECONNREFUSED); check host and port, and whether it runs`,
    )
  })
})

describe('TLS', () => {
  it('delivers to a receiver with a trusted certificate, and sends the client certificate', async () => {
    const server = await started({ tls: { ...serverTls, ca: pem('ca.pem'), requestCert: true } })
    const tls = { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') }
    await deliver(sinkTo(server.port, { protocol: 'tls', host: 'localhost', tls }))
    await waitFor(() => server.messages.length === 2, { what: 'two messages' })
  })

  it.each([
    ['a certificate that is not trusted', { tls: serverTls }, {}],
    [
      'a receiver that wants a certificate of ours',
      { tls: { ...serverTls, ca: pem('ca.pem'), requestCert: true, rejectUnauthorized: true } },
      { tls: { ca: pem('ca.pem') } },
    ],
    ['a receiver without TLS', {}, { tls: { ca: pem('ca.pem') }, timeoutSeconds: 0.5 }],
  ])('fails on %s, and delivers nothing', async (what, served, options) => {
    const server = await started(served)
    const sink = sinkTo(server.port, { protocol: 'tls', host: 'localhost', ...options })
    const failure = await failureOf(deliver(sink))
    expect(['tls', 'timeout'], failure.message).toContain(failure.code)
    if (what !== 'a receiver without TLS') expect(failure.kind).toBe('stop')
    expect(server.messages).toEqual([])
    expect(await failureOf(sink.check(never))).toMatchObject({ code: failure.code })
  })
})

it('names the certificate where the receiver closes right after the handshake', async () => {
  const { port: behind } = await started({ tls: serverTls })
  const server = createServer((near) => {
    const far = connect(behind, '127.0.0.1')
    far.on('error', () => undefined).pipe(near)
    near.on('error', () => undefined).once('close', () => far.destroy())
    near.once('data', (hello: Buffer) => {
      far.write(hello)
      // Where a receiver looks at the certificate of the client.
      near.once('data', () => near.end())
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  open.push({ close: async () => void (await once(server.close(), 'close')) })
  const { port } = server.address() as AddressInfo
  const sink = sinkTo(port, { protocol: 'tls', host: 'localhost', tls: { ca: pem('ca.pem') } })
  const failure = await failureOf(deliver(sink))
  expect(sink.address).toBe(`tls://localhost:${port}`)
  expect(failure).toMatchObject({ kind: 'retry', code: 'network' })
  expect(failure.message).toContain('the receiver closed the connection after the handshake: ')
  expect(failure.message).toContain('if it requires a certificate, set tls.certFile and tls.keyFile')
})

it('check connects, reports what it cannot test, and sends nothing', async () => {
  const server = await started({ tls: serverTls })
  const sink = sinkTo(server.port, { protocol: 'tls', host: 'localhost', tls: { ca: pem('ca.pem') } })
  const { found, note, untested } = (await sink.check(never))!
  expect(found).toMatch(/^connected over TLS 1\.3, certificate valid until \d{4}-\d{2}-\d{2}$/)
  expect(untested).toBe('delivery not tested')
  expect(note).toContain('another framing than octet')
  await waitFor(() => server.sockets.size === 0, { what: 'the end of the check' })
  expect([server.messages, server.rest()]).toEqual([[], 0])
})

it('delivers nothing after it is closed', async () => {
  const server = await started()
  const sink = sinkTo(server.port)
  await deliver(sink)
  await sink.close()
  expect(await failureOf(deliver(sink))).toMatchObject({ kind: 'cancelled' })
  await waitFor(() => server.sockets.size === 0, { what: 'the end of the connection' })
  expect(server.messages).toHaveLength(2)
})

/** Does not cut long values. */
const native = { format: createNativeFormat() }

/** More than the buffers of two sockets hold. */
function manyLarge(prefix: string) {
  return buildEvents(500, prefix).map((event) => ({ ...event, match: { value: 'x'.repeat(60_000) } }))
}
