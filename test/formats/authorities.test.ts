import { isIPv4, isIPv6 } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it, test } from 'vitest'
import { readExtension } from '../../src/formats/cef.ts'
import { formats } from '../../src/formats/registry.ts'
import { leaves } from '../content/leaves.ts'
import { entry } from '../shield/samples.ts'
import { json, table } from './authorities.ts'
import { buildEvent } from './events.ts'
import { eventOf, long, shapes } from './shapes.ts'

const [cef, ocsf, otlp] = [formats.cef(), formats.ocsf(), formats.otlp()]
const everything = { labels: true, log: true }

const cefKeys = table('cef-keys.tsv')
const cefChecks: Readonly<Record<string, (value: string) => boolean>> = {
  String: () => true,
  'IPv4 Address': isIPv4,
  'IPv6 Address': isIPv6,
  Integer: (value) => /^\d+$/.test(value),
  Long: (value) => /^\d+$/.test(value),
  TimeStamp: (value) => /^-?\d{12,13}$/.test(value),
}
const cefHeader = /^CEF:0(?:\|(?:[^\\|]|\\.)*){5}\|(?:\d|10|Unknown)\|/
const cefFieldsOf = (line: string) => readExtension(line, 'CEF:0|bunny.net|Bunny Shield|')!

const ecsFields = table('ecs-fields.tsv')
const ecsAllowed = json('ecs-allowed.json') as Record<string, Record<string, string[]>>
const ecsChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  long: Number.isSafeInteger,
  date: (value) => !Number.isNaN(Date.parse(String(value))),
}
const isText = (value: unknown) => typeof value === 'string' && value !== ''

function schema(name: string) {
  return new Ajv2020({ strict: false, allErrors: true }).compile(json(name) as object)
}
const validateOcsf = schema('ocsf-http-activity.json')
const validateOtlp = schema('otlp-log-record.json')

interface LogRecord {
  readonly timeUnixNano?: string
  readonly attributes: readonly { readonly key: string }[]
}

/** Whether a line is what the authority of its format allows. */
const authorities: Readonly<Record<'cef' | 'ecs' | 'ocsf' | 'otlp', (line: string) => void>> = {
  cef(line) {
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
    expect(line).toMatch(cefHeader)
    // As readers do that know no escaped backslash.
    const [, , , , , , severity = '', ...rest] = line.split(/(?<!\\)\|/)
    expect(severity).toMatch(/^(?:\d|10|Unknown)$/)
    expect(rest.join('|')).toMatch(/^rt=|^externalId=/)
    for (const [key, value] of cefFieldsOf(line)) {
      if (key.startsWith('BunnyShield')) continue
      const [, type = 'none', length = '0'] = cefKeys.get(key) ?? []
      expect(cefChecks[type]?.(value), `${key}=${value}: ${type}`).toBe(true)
      // Strict readers count the characters before they unescape them.
      const escaped = value.replaceAll(/[\\=\n\r]/g, '..')
      if (length !== '0') expect(escaped.length, key).toBeLessThanOrEqual(Number(length))
    }
  },
  ecs(line) {
    const read = JSON.parse(line) as { event: Record<string, string & string[]> }
    for (const [name, value] of leaves(read)) {
      if (name.startsWith('bunny.shield.')) continue
      const [type = 'none', array] = ecsFields.get(name) ?? []
      expect(Array.isArray(value), name).toBe(array === 'array')
      for (const one of [value].flat())
        expect((ecsChecks[type] ?? isText)(one), `${name}: ${type}`).toBe(true)
    }
    const { kind, category, type: types } = read.event
    expect(Object.keys(ecsAllowed['event.kind']!)).toContain(kind)
    expect(Object.keys(ecsAllowed['event.type']!)).toEqual(expect.arrayContaining(types!))
    const ofCategories = category!.flatMap((each) => ecsAllowed['event.category']![each]!)
    expect(ofCategories).toEqual(expect.arrayContaining(types!))
  },
  ocsf(line) {
    const read = JSON.parse(line) as object
    expect(validateOcsf(read), JSON.stringify(validateOcsf.errors)).toBe(true)
    // The schema has lost this rule of the class.
    expect(read).toHaveProperty('dst_endpoint')
  },
  otlp(line) {
    const read = JSON.parse(line) as LogRecord
    expect(validateOtlp(read), JSON.stringify(validateOtlp.errors)).toBe(true)
    const keys = read.attributes.map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
  },
}

const timed = shapes.filter(([, { time }]) => time !== undefined)

describe.each(['cef', 'ecs', 'ocsf', 'otlp'] as const)('%s', (name) => {
  const needsTime = name === 'ecs' || name === 'ocsf'
  const all = [...(needsTime ? timed : shapes), ['values of 64 kB', long] as const]
  it.each(all)('is as its authority wants it: %s', (_, event) => {
    for (const wanted of [{}, everything]) authorities[name](formats[name](wanted).encode(event))
  })
})

test('CEF escapes values so that none can add a field', () => {
  const line = cef.encode(eventOf(entry({ labels: { status: 'a b=c act=d\\', ruleId: 'x|y\\z' } })))
  expect(line).toContain(String.raw`act=a b\=c act\=d\\ `)
  expect(line).toContain(String.raw`|x\|y\\z|`)
  expect(cefFieldsOf(line).get('act')).toBe('a b=c act=d\\')
})

test('CEF keeps an id in full that is longer than externalId may be', () => {
  const event = eventOf(entry({ logId: 'a=|'.repeat(20) }))
  const line = cef.encode(event)
  expect(cefFieldsOf(line).get('externalId')).toBe(event.id.slice(0, 24))
  expect(cef.identify(line)).toEqual({ id: event.id, time: event.time })
})

test.each([
  ['ends in a backslash', 'x\\'],
  ['ends in an escaped separator', 'x\\|'],
  ['is full of separators', '\\|='.repeat(2000)],
  ['is cut within an escaped character', `${'a'.repeat(1022)}=${'b'.repeat(600)}`],
  ['is cut within an escaped character of the header', `${'a'.repeat(511)}|${'b'.repeat(600)}`],
  ['is cut within a pair', `${'a'.repeat(1022)}\u{1f600}${'='.repeat(600)}`],
])('simple and strict readers find the fields of a CEF line whose text %s', (_what, text) => {
  const url = `https://shop.example/${text}`
  const rule = { id: text, message: text }
  const line = cef.encode(
    buildEvent({ action: text, rule, request: { url, userAgent: text }, match: { value: text } }),
  )
  authorities.cef(line)
  const { rule: _, ...ruleless } = buildEvent({ request: { url } })
  authorities.cef(cef.encode(ruleless))
  expect(cefFieldsOf(line).get('requestClientApplication')!.length).toBeGreaterThan(
    Math.min(text.length, 500) - 1,
  )
})

const enumerations = json('ocsf-captions.json') as Readonly<
  Record<string, { readonly sibling: string; readonly captions: Readonly<Record<string, string>> }>
>
const words = ['Blocked', 'Logged', 'Detected', 'Challenged', 'Captcha', 'Allowed', 'Bypassed', 'Tarpitted']
const severities = ['notice', 'warning', 'error', 'critical', 'emergency']

test.each([
  ...timed,
  ...words.map((action) => [action, buildEvent({ action })] as const),
  ...severities.map((severity) => [severity, buildEvent({ severity })] as const),
])('in OCSF the text beside a number is its caption, and the own word of an other one: %s', (_, event) => {
  const line = JSON.parse(ocsf.encode(event)) as Record<string, unknown>
  for (const [id, { sibling, captions }] of Object.entries(enumerations)) {
    const text = line[sibling]
    if (text === undefined) continue
    if (line[id] === 99) expect([event.action, event.severity, event.request?.method]).toContain(text)
    else expect([id, line[id], text]).toEqual([id, line[id], captions[String(line[id])]])
  }
  // The words of the service are always there.
  for (const name of ['action', 'severity'] as const) {
    if (event[name] === undefined) continue
    expect(line).toHaveProperty(['unmapped', name], event[name])
    expect(line).toHaveProperty(name)
  }
})

test('the schema of OCSF refuses a wrong attribute', () => {
  const good = JSON.parse(ocsf.encode(eventOf(entry()))) as object
  expect(validateOcsf({ ...good, time: 'now' })).toBe(false)
  expect(validateOcsf({ ...good, own: 1 })).toBe(false)
})

test.each<[timestamp: string, time?: string]>([
  // Nanoseconds above the largest exact number of JSON.
  ['1763640000123456789', '2025-11-20T12:00:00.123456789Z'],
  // What nanoseconds cannot represent.
  ['1763640000120000'],
  ['1950-01-01T00:00:00Z'],
  ['9999-12-31T23:59:59Z'],
])('OTLP keeps the time of %s', (timestamp, time) => {
  const event = eventOf(entry({ timestamp }))
  const line = otlp.encode(event)
  expect(otlp.identify(line)).toEqual({ id: event.id, time: time ?? event.time })
  if (time !== undefined) expect((JSON.parse(line) as LogRecord).timeUnixNano).toBe(timestamp)
})
