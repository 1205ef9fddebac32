import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Event } from '../../src/domain/event/event.ts'
import { formats } from '../../src/formats/registry.ts'
import { linesBelow } from '../e2e/shipped.ts'
import { endOf, readableDays, workplace, zones } from '../e2e/workplace.ts'
import { fencesOf } from '../docs/pages.ts'
import type { TestProcess } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { waitFor } from '../setup/wait-for.ts'
import { eventsOf, placeOfEveryKind } from './every-kind.ts'
import { deadLettersOf, expectShipped, idsOf } from './place.ts'
import { KafkaBroker } from './servers/kafka.ts'
import { startCollector } from './servers/otelcol.ts'

// The receivers of an OpenTelemetry Collector read what other sinks than that of OTLP write.

const otlpAt = (port: number) => ({ otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } })
const bySign = (texts: readonly string[]) => texts.toSorted((one, other) => (one < other ? -1 : 1))

test.each([
  ['octet', ['cef', 'native']],
  ['newline', ['cef', 'native']],
] as const)('syslog by %s: every message is read whole', async (framing, made) => {
  const { ports, records } = await startCollector((port, otherPort) => ({
    ...otlpAt(port),
    syslog: {
      protocol: 'rfc5424',
      enable_octet_counting: framing === 'octet',
      max_octets: 65_536,
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
  const read = records().map(({ attributes, body }) => `${attributes['kafka.header.shieldlog-id']} ${body}`)
  expect(bySign(read)).toEqual(bySign(events.map((event) => `${hexOf(event)} ${encode(event)}`)))
})

function hexOf({ fingerprint }: Event): string {
  return fingerprint.toString(16).padStart(16, '0')
}

test('files: a Collector that follows them reads every event, through rotations and kills of both', async () => {
  const place = await workplace({ days: 20, pageSize: 20, order: 'unordered' })
  const rotate = { maxBytes: 15_000 }
  place.configure({ sinks: [{ name: 'archive', type: 'file', path: place.events, rotate }] })
  const addEvents = () => {
    for (const zone of zones) for (const day of readableDays()) place.simulator.append(zone, day, 10)
  }
  const folder = join(place.folder, 'collector')
  mkdirSync(folder)
  const children: TestProcess[] = []
  const page = readFileSync(`${projectFolder}docs/destinations/files.md`, 'utf8')
  const printed = fencesOf(page).find(({ marks }) => marks[0] === 'collector')!
  const text = printed.text
    .replace('/var/lib/shieldlog/events', place.events)
    .replace('/var/lib/otelcol', folder)
  const { receivers } = parse(text) as { receivers: Readonly<Record<string, object>> }
  const follow = () => startCollector((port) => ({ ...otlpAt(port), ...receivers }), { folder })
  type Follower = Awaited<ReturnType<typeof follow>>
  const hasRead = ({ records }: Follower, ids: readonly string[]) => {
    const read = new Set(records().map(({ attributes }) => attributes['id']))
    return ids.every((id) => read.has(id))
  }
  const written = () => linesBelow(place.events, 'under way').map(({ line }) => line.id)
  const cuts = () => children.flatMap((child) => child.stderr().match(/"FileCut"/g) ?? []).length
  let follower = await follow()
  for (let round = 0; round < 12; round++) {
    addEvents()
    const child = place.entry(['--once', '--freeze', `before:commit@archive:${1 + (round % 5)}`])
    children.push(child)
    await child.waitForLine(/^frozen$/)
    await waitFor(() => hasRead(follower, written()), { what: 'lines that are not committed' })
    // Every third time only the shipper.
    if (round % 3 > 0) await follower.process.kill('SIGKILL')
    await child.kill('SIGKILL')
    if (round % 3 > 0) {
      addEvents()
      children.push(place.start(['run', '--once']))
      const { code, stderr } = await endOf(children.at(-1)!)
      expect(code, stderr).toBe(0)
      follower = await follow()
    }
  }
  await expectShipped(place)
  await waitFor(() => hasRead(follower, idsOf(place)), { what: 'every event' })
  for (const { attributes, timeUnixNano = '0' } of follower.records())
    expect(Number(timeUnixNano.slice(0, -6))).toBe(Date.parse(attributes['time']!))
  expect(cuts()).toBeGreaterThan(6)
})
