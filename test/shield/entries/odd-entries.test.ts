import { describe, expect, it } from 'vitest'
import { exactJson } from '../../../src/domain/text/decode.ts'
import type { Json } from '../../../src/domain/text/json.ts'
import { formats } from '../../../src/formats/registry.ts'
import { eventOfLine, eventsOf } from '../../../src/shield/entries/to-event.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { wantsOf } from '../../../src/sinks/wants.ts'
import { logForms, oddEntries } from '../../fixtures/odd-entries.ts'
import { expectLines, expectRows } from '../../fuzz/expect-lines.ts'
import { expectWhole } from '../../fuzz/expect-whole.ts'
import { defaults, zone } from '../samples.ts'

const off = createRedactor('off')
const names = Object.keys(oddEntries)
const received = Object.values(oddEntries).map((json) => (exactJson(`[${json}]`) as Json[])[0]!)
const [events, redacted] = [off, createRedactor(defaults)].map((redactor) =>
  eventsOf(received, zone, redactor),
)
const rows = names.map((name, index) => ({ name, entry: received[index]!, event: events![index]!, index }))
const eventOf = (name: string) => events![names.indexOf(name)]!
const { native, raw } = formats

describe.each(rows)('$name', ({ entry, event, index }) => {
  it('has a line in every format, which holds the whole entry', () => {
    expectLines(event, zone.id)
    expectWhole(entry, event)
    expect(native().encode(redacted![index]!)).toBe(native().encode(event))
  })

  it('comes back from files as it was', () => {
    for (const source of [native(), raw(), native({ labels: false, log: false, raw: true })]) {
      const again = eventOfLine(source.readBack!(source.encode(event))!, zone, off)
      expect(native().encode(again)).toBe(native().encode(event))
      expect(again.fingerprint).toBe(event.fingerprint)
    }
  })
})

it('has a row in Parquet, which stands for its line', () => expectRows(events!))

it('stands whole in every format that includes labels or log', () => {
  const other = { ja4: 't13d1516h2_8daaf6152771', feature: { bot: { score: '0.10' } }, tags: [1, [2]] }
  const text = JSON.stringify(other).replace('"0.10"', '0.10')
  const quoted = JSON.stringify(text)
  const event = eventOf('unknown members')
  expect(native({ labels: false, log: false }).encode(event)).toContain(`"other":${text}`)
  for (const include of [{ labels: true }, { log: true }]) {
    expect(formats.ecs(include).encode(event)).toContain(`"other":${text}`)
    expect(formats.ocsf(include).encode(event)).toContain(`"other":${text}`)
    expect(formats.otlp(include).encode(event)).toContain(
      `{"key":"bunny.shield.other","value":{"stringValue":${quoted}}}`,
    )
    expect(formats.cef(include).encode(event)).toContain(`BunnyShieldOther=${text}`)
  }
  for (const name of ['ecs', 'ocsf', 'otlp', 'cef'] as const)
    expect(formats[name]().encode(event)).not.toContain('t13d1516h2')
})

it('holds no secret in what no field carries', () => {
  const received = exactJson(
    '{"logId":{"token":"hunter2-1"},"timestamp":{"password":"hunter2-2"},"more":[{"name":"Cookie","value":"hunter2-3"}]}',
  )!
  const [event] = eventsOf([received], zone, createRedactor(defaults))
  expect(native().encode(event!)).not.toContain('hunter2')
  expect(event!.other).toEqual({
    logId: { token: '[redacted]' },
    timestamp: { password: '[redacted]' },
    more: [{ name: 'Cookie', value: '[redacted]' }],
  })
})

it('is absent from the lines of ordinary entries', () => {
  for (const name of [...logForms, 'a time without zone', 'a leap second', 'an id beyond 2^53'])
    expect(eventOf(name).other, name).toBeUndefined()
})

it.each(logForms)('%s gives the fields that a log gives', (name) => {
  expect(eventOf(name)).toMatchObject({
    action: 'Blocked',
    rule: { message: 'XSS Attack Detected' },
    request: { url: 'https://shop.example/s?q=1', userAgent: 'curl/8.5.0' },
    client: { address: '203.0.113.7', ip: '203.0.113.7' },
    match: { operator: 'RX', value: '<script>' },
  })
  expect(wantsOf({ where: { hosts: ['shop.example'] } })!(eventOf(name))).toBe(true)
})

it('labels in another case give the fields that labels give', () => {
  const event = eventOf('labels in another case')
  expect(event).toMatchObject({ action: 'Blocked', severity: 'warning', rule: { id: '941100' } })
})

it('numbers of fields are those that were received', () => {
  expect(eventOf('numbers in labels')).toMatchObject({
    rule: { id: '941100.0' },
    client: { asn: 64_500 },
    response: { status: 403 },
  })
  expect(eventOf('numbers in a log').request?.url).toBe('18446744073709551615')
  expect(eventOf('an id beyond 2^53').id).toBe('1795894059759000001')
})

it('times in other spellings are times', () => {
  const times = {
    'a time without zone': '19:20:00.123Z',
    'a time with a space': '19:20:00.123Z',
    'a time in lower case': '19:20:00.123Z',
    'a time of .NET': '19:20:00.123Z',
    'seven digits of a second': '19:20:00.123456700Z',
    'nanoseconds as a number': '19:20:00.123456789Z',
    'milliseconds with a fraction': '19:20:00.123456700Z',
  }
  for (const [name, time] of Object.entries(times))
    expect(eventOf(name).time, name).toBe(`2026-11-28T${time}`)
  expect(eventOf('a leap second').time).toBe('2026-11-29T00:00:00.123Z')
})

it('a thousand entries whose ids differ in the last digits of a long number are a thousand events', () => {
  const text = Array.from(
    { length: 1_000 },
    (_, index) => `{"logId":${1_795_894_059_759_000_000n + BigInt(index)},"timestamp":1795894059759}`,
  )
  const page = exactJson(`[${text.join(',')}]`) as Json[]
  expect(new Set(eventsOf(page, zone, off).map(({ fingerprint }) => fingerprint)).size).toBe(1_000)
  const withoutId = exactJson(`[${text.join(',').replaceAll('logId', 'number')}]`) as Json[]
  expect(new Set(eventsOf(withoutId, zone, off).map(({ fingerprint }) => fingerprint)).size).toBe(1_000)
})
