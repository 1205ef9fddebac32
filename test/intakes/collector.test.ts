import { expect, test } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { formats } from '../../src/formats/registry.ts'
import { waitFor } from '../setup/wait-for.ts'
import { eventsOf, placeOfEveryKind } from './every-kind.ts'
import { deadLettersOf } from './place.ts'
import { KafkaBroker } from './servers/kafka.ts'
import { startCollector } from './servers/otelcol.ts'

// The receivers of an OpenTelemetry Collector read what other sinks than that of OTLP write.

const otlpAt = (port: number) => ({ otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } })
const bySign = (texts: readonly string[]) => texts.toSorted((one, other) => (one < other ? -1 : 1))

test.each([
  ['octet', ['cef']],
  ['newline', ['cef', 'native']],
] as const)('syslog by %s: every message is read whole', async (framing, made) => {
  const { ports, records } = await startCollector((port, otherPort) => ({
    ...otlpAt(port),
    syslog: {
      protocol: 'rfc5424',
      enable_octet_counting: framing === 'octet',
      tcp: { listen_address: `127.0.0.1:${otherPort}` },
    },
  }))
  for (const format of made) {
    const sink = { type: 'syslog', format, framing, hostname: format, protocol: 'tcp' }
    const place = await placeOfEveryKind({ ...sink, host: '127.0.0.1', port: ports[1] })
    await place.once()
    const unsent = new Set((await deadLettersOf(place)).map(({ id, reason }) => `${id} ${reason}`))
    const events = eventsOf(place).filter(({ id }) => !unsent.has(`${id} too_large`))
    const own = () => records().filter(({ attributes }) => attributes['hostname'] === format)
    await waitFor(() => own().length >= events.length, {
      timeoutMs: 30_000,
      what: () => `${events.length} messages: ${own().length} are there`,
    })
    const { encode } = formats[format]()
    const read = own().map(({ attributes, timeUnixNano = '0' }) =>
      [attributes['message'], attributes['appname'], timeUnixNano].join(' '),
    )
    const sent = events.map((event) => [encode(event), 'shieldlog', nanosOf(event)].join(' '))
    expect(bySign(read)).toEqual(bySign(sent))
  }
})

/** To the microsecond, as the header has it. */
function nanosOf({ time, timeMs }: Event): string {
  if (time === undefined || timeMs === undefined) return '0'
  const digits = /\.(\d+)Z$/.exec(time)![1]!.slice(0, 6).padEnd(9, '0')
  return `${Math.floor(timeMs / 1000)}${digits}`
}

test('Kafka: every message is read whole, with the header that identifies it', async () => {
  const broker = await KafkaBroker.start()
  const topic = await broker.freshTopic()
  const place = await placeOfEveryKind({ type: 'kafka', brokers: [broker.plain], topic })
  const { code, stderr } = await place.once()
  expect(code, stderr).toBe(0)
  const { records } = await startCollector((port) => ({
    ...otlpAt(port),
    kafka: {
      brokers: [broker.plain],
      initial_offset: 'earliest',
      logs: { topics: [topic], encoding: 'text' },
      header_extraction: { extract_headers: true, headers: ['shieldlog-id'] },
    },
  }))
  const events = eventsOf(place)
  await waitFor(() => records().length >= events.length, {
    everyMs: 300,
    what: () => `${events.length} records`,
  })
  const { encode } = formats.native()
  expect(bySign(records().map(({ body }) => body))).toEqual(bySign(events.map((event) => encode(event))))
})
