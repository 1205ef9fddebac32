import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFormat, formats, servedBy, type LineForm } from '../../../src/formats/registry.ts'
import { eventOfLine, toEvent } from '../../../src/shield/entries/to-event.ts'
import { createRedactor, type Redaction } from '../../../src/shield/redaction/redact.ts'
import { runsOf } from '../../fuzz/mutated.ts'
import { withNumbers } from '../../fuzz/with-numbers.ts'
import { defaults } from '../samples.ts'

const zone = { id: 101, name: 'shop' }
const strict: Redaction = { ...defaults, addresses: 'mask' }
const redactions: readonly Redaction[] = ['off', strict, { ...strict, addresses: 'drop' }]

const text = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.constantFrom('\ud800', 'a\udfffb', '\\\ud800', '\u2028', 'line\nbreak', ' ', '\0', '😀', '{"a":1}', '{'),
)
const object = fc.dictionary(fc.oneof(text, fc.constantFrom('__proto__', 'text')), fc.jsonValue())
const some = <T>(fields: { [Name in keyof T]: fc.Arbitrary<T[Name]> }) =>
  fc.record(fields, { requiredKeys: [] })
const agent = (Value: string) => [
  { Name: 'Cookie', Value: 'session=abcdefgh' },
  { Name: 'User-Agent', Value },
]
const log = some({
  Message: text,
  Url: fc.constantFrom('https://x.example/?token=s3cr3t-s3cr3t&a=1', 'https://x.example/'),
  RemoteIp: fc.constantFrom('203.0.113.7', '2001:db8::1', '1.2.3.*', 'unknown'),
  UrlEncodedBody: fc.constantFrom(null, 'password=hunter2hunter2'),
  Headers: fc.oneof(
    fc.constantFrom([], ['Authorization: Bearer abcdefgh'], { 'user-agent': 'x', 'CDN-RequestId': 'r1' }),
    text.map(agent),
  ),
  TriggerMatch: fc.constantFrom(null, { Key: 'PMF', Value: '.env' }, 'x'),
})
const labels = some({
  status: fc.oneof(text, fc.constantFrom('Blocked', '403', '')),
  severity: fc.oneof(text, fc.constant('CRITICAL')),
  asn: fc.constantFrom('64500', 'AS64500', '', 7),
  country: fc.constantFrom('bg', 'Bulgaria', ''),
  ruleId: text,
  method: text,
  serverZone: text,
})
const whole = some({
  logId: fc.oneof(fc.uuid(), text, fc.constantFrom('', 12)),
  timestamp: fc.constantFrom(1_795_132_800_123, 1_795_132_800, 1_795_132_800_123_456, 'soon', null, {}),
  labels: fc.oneof(labels, object, fc.constantFrom(null, [{ Key: 'ruleId', Value: '941100' }], 'x')),
  log: fc.oneof(
    log.map((each) => JSON.stringify(each)),
    log,
    object,
    object.map((each) => JSON.stringify(each)),
    text,
    fc.constantFrom(null, '', 7, [1], { text: '' }, { text: 'x' }, { text: '{"a":1}' }),
  ),
  more: fc.jsonValue(),
  number: fc.constantFrom('#12345678901234567890#', '#1e400#', '#-0#', '#1.0#'),
})
const odd = fc.constantFrom({ text: 'x' }, {}, [1], null, { text: 'x', log: { text: 'x' } })
const entry = fc
  .oneof({ weight: 8, arbitrary: whole }, { weight: 1, arbitrary: text }, { weight: 1, arbitrary: odd })
  // As over the wire: nothing but what JSON has.
  .map(withNumbers)

const sources: readonly LineForm[] = [
  { format: 'native' },
  { format: 'native', include: { labels: false, log: false, raw: true } },
  { format: 'raw' },
]
const routes = sources.flatMap((source) =>
  servedBy(source).map((to) => ({ source, to, from: JSON.stringify(source) })),
)

it('cannot be created from a line that contains too little of it', () => {
  for (const include of [{ labels: false }, { log: false }])
    for (const format of ['native', 'raw'] as const) expect(servedBy({ format, include })).toEqual([])
  for (const format of ['ecs', 'ocsf', 'otlp', 'cef'] as const) expect(servedBy({ format })).toEqual([])
  const { encode, readBack } = formats.native({ log: false })
  expect(readBack!(encode(toEvent({ logId: 'x', log: 'y' }, zone, createRedactor('off'))))).toBeUndefined()
})

describe.each(routes)('an event of a line of $from', ({ source: form, to }) => {
  // Of a native line without it, the entry is made of labels and log.
  const [source, target] = [
    createFormat(form),
    formats[to](to === 'raw' ? {} : { labels: true, log: true, raw: false }),
  ]

  it(`has the same id, time and ${to} line as the API would give`, () => {
    fc.assert(
      fc.property(entry, fc.constantFrom(...redactions), (received, redaction) => {
        const redactor = createRedactor(redaction)
        const first = toEvent(received, zone, redactor)
        const kept = source.readBack!(source.encode(first))!
        expect(kept.zone).toBe(101)
        const again = eventOfLine(kept, zone, redactor)
        // A lone surrogate is no text for readers; the hash of an id knows no difference.
        expect([again.id, again.time, again.timeMs, again.fingerprint]).toEqual([
          first.id.toWellFormed(),
          first.time,
          first.timeMs,
          first.fingerprint,
        ])
        if (first.time !== undefined || !['ecs', 'ocsf'].includes(to))
          expect(target.encode(again)).toBe(target.encode(first))
      }),
      { numRuns: runsOf(150) },
    )
  })
})

it('is redacted as configured now, also if the log is plain text', () => {
  const redactor = createRedactor(strict)
  const received = { logId: 'a', log: 'Cookie: session=abcdefgh', labels: {} }
  for (const format of [formats.native(), formats.raw()]) {
    const open = format.readBack!(format.encode(toEvent(received, zone, createRedactor('off'))))!
    const line = format.encode(eventOfLine(open, zone, redactor))
    expect(line).not.toContain('abcdefgh')
    expect(line).toBe(format.encode(toEvent(received, zone, redactor)))
  }
})

it('cannot be created from other text', () => {
  const { native, raw } = { native: formats.native(), raw: formats.raw() }
  for (const line of [
    '',
    '{',
    '[]',
    '{"v":1,"id":"x"}',
    '{"v":1,"id":"x","zone":{"id":1},"labels":{},"log":"x"}',
  ])
    expect(native.readBack!(line)).toBeUndefined()
  for (const line of ['', '{"logId":"x"}', '{"shieldZoneId":1}', '{"logId":"x","shieldZoneId":"1"}'])
    expect(raw.readBack!(line)).toBeUndefined()
})
