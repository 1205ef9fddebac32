import { isIPv4, isIPv6 } from 'node:net'
import { expect, it } from 'vitest'
import { createCefFormat, readExtension } from '../../src/formats/cef.ts'
import { entry } from '../shield/samples.ts'
import { table } from './authorities.ts'
import { eventOf, long, shapes } from './shapes.ts'

const cef = createCefFormat()
const keys = table('cef-keys.tsv')
const start = 'CEF:0|bunny.net|Bunny Shield|'

function fieldsOf(line: string): Map<string, string> {
  return readExtension(line, start)!
}

const checks: Readonly<Record<string, (value: string) => boolean>> = {
  String: () => true,
  'IPv4 Address': isIPv4,
  'IPv6 Address': isIPv6,
  Integer: (value) => /^\d+$/.test(value),
  Long: (value) => /^\d+$/.test(value),
  TimeStamp: (value) => /^-?\d{12,13}$/.test(value),
}

it.each([...shapes, ['values of 64 kB', long] as const])('follows the dictionary of CEF: %s', (_, event) => {
  for (const [key, value] of fieldsOf(cef.encode(event))) {
    if (key.startsWith('BunnyShield')) continue
    const [, type = 'none', length = '0'] = keys.get(key) ?? []
    expect(checks[type]?.(value), `${key}=${value}: ${type}`).toBe(true)
    if (length !== '0') expect(value.length, key).toBeLessThanOrEqual(Number(length))
  }
})

it.each(shapes)('is one line with seven fields before the extension: %s', (_, event) => {
  const line = cef.encode(event)
  // oxlint-disable-next-line no-control-regex
  expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
  const [, ...header] =
    /^CEF:0\|((?:[^\\|]|\\.)*)\|((?:[^\\|]|\\.)*)\|((?:[^\\|]|\\.)*)\|((?:[^\\|]|\\.)*)\|((?:[^\\|]|\\.)*)\|([^|]*)\|/.exec(
      line,
    )!
  expect(header).toHaveLength(6)
  expect(header[5]).toMatch(/^(?:\d|10|Unknown)$/)
})

it('escapes values so that none can add a field', () => {
  const line = cef.encode(eventOf(entry({ labels: { status: 'a b=c act=d\\', ruleId: 'x|y\\z' } })))
  expect(line).toContain(String.raw`act=a b\=c act\=d\\ `)
  expect(line).toContain(String.raw`|x\|y\\z|`)
  expect(fieldsOf(line).get('act')).toBe('a b=c act=d\\')
})

it('keeps an id in full that is longer than externalId may be', () => {
  const event = eventOf(entry({ logId: 'a=|'.repeat(20) }))
  const line = cef.encode(event)
  expect(fieldsOf(line).get('externalId')).toBe(event.id.slice(0, 40))
  expect(cef.identify(line)).toEqual({ id: event.id, time: event.time })
})
