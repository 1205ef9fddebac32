import { beforeAll, expect, test } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { formats } from '../../src/formats/registry.ts'
import { waitFor } from '../setup/wait-for.ts'
import { eventsOf, placeOfEveryKind } from './every-kind.ts'
import { deadLettersOf } from './place.ts'
import { startSyslogNg } from './servers/syslog-ng.ts'

// What syslog-ng reads of each message is compared with every event.

let server: Awaited<ReturnType<typeof startSyslogNg>>

beforeAll(async () => {
  server = await startSyslogNg()
})

const severities: Readonly<Record<string, number>> = { critical: 2, error: 3, warning: 4, notice: 5 }
/** To the microsecond. */
const timeOf = ({ time }: Event) =>
  time?.replace(/\.(\d+)Z$/, (_, digits: string) => `.${digits.slice(0, 6).padEnd(6, '0')}+00:00`)

test.each([
  ['cef', 'octet'],
  ['cef', 'newline'],
  ['native', 'octet'],
  ['native', 'newline'],
] as const)('syslog-ng reads each message whole: %s, %s', async (format, framing) => {
  const hostname = `${format}-${framing}`
  const port = framing === 'octet' ? server.octets : server.lines
  const sink = { type: 'syslog', format, framing, hostname, host: '127.0.0.1', port, protocol: 'tcp' }
  const place = await placeOfEveryKind(sink)
  const { stderr } = await place.once()
  const tooLarge = await deadLettersOf(place)
  expect(new Set(tooLarge.map(({ reason }) => reason)), stderr).toEqual(
    new Set(format === 'native' ? ['too_large'] : []),
  )
  const events = eventsOf(place).filter(({ id }) => !tooLarge.some((letter) => letter.id === id))
  const own = () => server.messages().filter((message) => message.hostname === hostname)
  await waitFor(() => own().length >= events.length, { what: () => `${events.length} messages` })
  const made = formats[format]()
  const expected = events.map((event) => ({
    hostname,
    priority: String(128 + (severities[event.severity ?? ''] ?? 6)),
    program: 'shieldlog',
    // A message without a time has that of its arrival.
    time: timeOf(event) ?? expect.any(String),
    text: made.encode(event),
  }))
  const byText = <Of extends { readonly text: string }>(messages: readonly Of[]) =>
    messages.toSorted((one, other) => (one.text < other.text ? -1 : 1))
  expect(byText(own())).toEqual(byText(expected))
})
