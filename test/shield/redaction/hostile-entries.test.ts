import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/domain/event/event.ts'
import { partsOf } from '../../../src/domain/event/request-url.ts'
import { formats } from '../../../src/formats/registry.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import { eventOfLine, toEvent } from '../../../src/shield/entries/to-event.ts'
import { createRedactor, type Redaction } from '../../../src/shield/redaction/redact.ts'
import { wantsOf, type FilterField, type Lists } from '../../../src/sinks/wants.ts'
import { facts, factTexts, hostileEntries, request, secret } from '../../fixtures/hostile-entries.ts'
import { expectLines } from '../../fuzz/expect-lines.ts'
import { defaults, zone } from '../samples.ts'

const addressKey = new Secret('k'.repeat(16))
const redactions: readonly Redaction[] = [
  defaults,
  ...(['mask', 'drop', 'hash'] as const).map((addresses) => ({ ...defaults, addresses, addressKey })),
  { ...defaults, headers: ['x-*'], query: ['*'] },
]
const everything = { labels: true, log: true, raw: true }

function factsOf(event: Event) {
  const { action, severity, rule, client, pop, request: { method, url, userAgent } = {} } = event
  const { host, path } = partsOf(url)!
  return {
    action,
    severity,
    rule,
    method,
    host,
    path,
    userAgent,
    country: client?.country,
    asn: client?.asn,
    pop,
  }
}

const lists: Lists = {
  zones: [zone.id],
  actions: [facts.action],
  severities: [facts.severity],
  rules: [facts.rule.id],
  countries: [facts.country],
  hosts: [facts.host],
  paths: [facts.path],
  methods: [facts.method],
  asns: [facts.asn],
  addresses: ['203.0.113.0/24'],
  userAgents: [facts.userAgent],
}
const fields = Object.keys(lists) as FilterField[]

describe.each(Object.entries(hostileEntries))('%s', (_name, entry) => {
  it.each(redactions)('hides no fact and keeps no secret in any format, with %j', (redaction) => {
    const redactor = createRedactor(redaction)
    const event = toEvent(entry, zone, redactor)
    expectLines(event, zone.id)
    expect(factsOf(event)).toEqual(facts)
    expect(factsOf(toEvent(entry, zone, createRedactor('off')))).toEqual(facts)
    for (const format of Object.values(formats).map((make) => make(everything))) {
      const line = format.encode(event)
      expect(line, format.name).not.toContain(secret)
      expect(decodeURIComponent(line.replace(/%(?![\da-f]{2})/gi, '')), format.name).not.toContain(secret)
    }
    // A stored event is redacted once more, and stays what it is.
    const { native } = formats
    const again = eventOfLine(native().readBack!(native().encode(event))!, zone, redactor)
    expect(native().encode(again)).toBe(native().encode(event))
  })

  it.each(fields)('does not change what a filter by %s decides', (field) => {
    const event = toEvent(entry, zone, createRedactor(defaults))
    const listed = lists[field] as readonly string[]
    expect(wantsOf({ where: { [field]: listed } })!(event)).toBe(true)
    expect(wantsOf({ where: { [field]: { not: listed } } })!(event)).toBe(false)
  })
})

it('no cookie, parameter or header changes what another field says, nor what a filter decides', () => {
  const listed = createRedactor({ ...defaults, headers: ['x-own'], query: ['own'] })
  const masked = createRedactor({ ...defaults, addresses: 'mask' })
  const value = fc.oneof(
    fc.constantFrom(...factTexts, '203.0.113.7', '203.0.113.*', '::', 'shop', 'admin', 'https'),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  const added = fc.record({
    query: value.map((text) => `own=${encodeURIComponent(text.toWellFormed())}&key=${text}`),
    headers: fc.array(fc.tuple(fc.constantFrom('Cookie', 'X-Own', 'Forwarded', 'Referer', 'A'), value)),
  })
  fc.assert(
    fc.property(added, (extra) => {
      for (const by of [listed, masked]) {
        const event = toEvent(request(extra), zone, by)
        expect(factsOf(event)).toEqual(facts)
        for (const field of fields)
          if (by === listed || field !== 'addresses')
            expect(wantsOf({ where: { [field]: lists[field] } })!(event), field).toBe(true)
      }
    }),
  )
})

it('no URL changes its scheme, host or path when it is redacted', () => {
  const redactors = redactions.map(createRedactor)
  const signs = 'https:// h @ / \\ ? # token= a:b %40 %2f %3f & ; : [ ] ::1 203.0.113.7 // %3a%2f%2f'.split(
    ' ',
  )
  const end = fc.array(fc.constantFrom(...signs, ' ', '\n'), { maxLength: 10 })
  fc.assert(
    fc.property(fc.constantFrom('', 'https://shop.example'), end, (begin, added) => {
      const url = begin + added.join('')
      const entry = { log: { Url: url, RemoteIp: '203.0.113.7' } }
      const { scheme, host, port, path } = partsOf(url) ?? {}
      for (const by of redactors) {
        const shown = partsOf(toEvent(entry, zone, by).request?.url) ?? {}
        expect({ scheme, host, port, path }).toEqual({ ...shown, query: undefined })
      }
    }),
  )
})
