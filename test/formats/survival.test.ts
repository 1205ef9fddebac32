import { isIP } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import type { Json } from '../../src/domain/text/json.ts'
import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import { readExtension } from '../../src/formats/cef.ts'
import { formats, type FormatName } from '../../src/formats/registry.ts'
import { anyText as text } from './events.ts'
import { eventOf } from './shapes.ts'

/** What a reader finds of an event in a line. */
interface Found {
  readonly action: unknown
  readonly rule: unknown
  readonly address: unknown
  readonly asn: unknown
  readonly country: unknown
  /** Every value of a field for IP addresses. */
  readonly ips: readonly unknown[]
  readonly raw: unknown
}

const readers: Readonly<Record<Exclude<FormatName, 'raw'>, (line: string) => Found>> = {
  native: (line) => {
    const at = atPathsOf(JSON.parse(line))
    return {
      ...found(at, 'action', 'rule.id', 'client.address', 'client.asn', 'client.country'),
      ips: [at('client.ip')],
      raw: at('raw'),
    }
  },
  ecs: (line) => {
    const at = atPathsOf(JSON.parse(line))
    const country = at('source.geo.country_iso_code') ?? at('bunny.shield.country')
    return {
      ...found(at, 'bunny.shield.action', 'rule.id', 'source.address', 'source.as.number'),
      country,
      ips: [at('source.ip'), at('client.ip'), at('related.ip.0')],
      raw: parsed(at('event.original')),
    }
  },
  ocsf: (line) => {
    const at = atPathsOf(JSON.parse(line))
    return {
      ...found(at, 'unmapped.action', 'firewall_rule.uid', 'src_endpoint.name'),
      asn: at('src_endpoint.autonomous_system.number') ?? at('unmapped.asn'),
      country: at('src_endpoint.location.country') ?? at('unmapped.country'),
      ips: [at('src_endpoint.ip'), at('observables.0.value')],
      raw: parsed(at('raw_data')),
    }
  },
  otlp: (line) => {
    const { attributes } = JSON.parse(line) as {
      attributes: { key: string; value: Record<string, unknown> }[]
    }
    const held = new Map(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
    const asn = held.get('bunny.shield.client.asn')
    return {
      action: held.get('bunny.shield.action'),
      rule: held.get('security_rule.uuid'),
      address: held.get('client.address'),
      asn: asn === undefined ? undefined : Number(asn),
      country: held.get('geo.country.iso_code') ?? held.get('bunny.shield.country'),
      ips: [],
      raw: parsed(held.get('log.record.original')),
    }
  },
  cef: (line) => {
    const fields = readExtension(line, 'CEF:0|bunny.net|Bunny Shield|')!
    const rule = /^(?:(?:[^\\|]|\\.)*\|){4}((?:[^\\|]|\\.)*)\|/.exec(line)?.[1]?.replaceAll(/\\(.)/g, '$1')
    const asn = fields.get('cn1')
    return {
      action: fields.get('act'),
      rule,
      address: fields.get('cs3'),
      asn: asn === undefined ? undefined : Number(asn),
      country: fields.get('cs1'),
      ips: [fields.get('src'), fields.get('c6a2')],
      raw: parsed(fields.get('BunnyShieldRaw')),
    }
  },
}

function atPathsOf(value: unknown): (path: string) => unknown {
  return (path) =>
    path
      .split('.')
      .reduce<unknown>((held, key) => (held as Record<string, unknown> | undefined)?.[key], value)
}

function found(at: (path: string) => unknown, ...[action, rule, address, asn, country]: string[]) {
  const of = (path: string | undefined) => (path === undefined ? undefined : at(path))
  return { action: of(action), rule: of(rule), address: of(address), asn: of(asn), country: of(country) }
}

function parsed(text: unknown): unknown {
  return typeof text === 'string' ? JSON.parse(text) : text
}

const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  text,
  fc.constantFrom('1.2.3.*', '2001:db8::*', '0.0.0.0', '::'),
)
const entries: fc.Arbitrary<Json> = fc
  .record({
    logId: fc.oneof(fc.uuid(), text),
    timestamp: fc.oneof(
      fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }),
      fc.integer({ min: 1_700_000_000_000_000, max: 1_800_000_000_000_000 }),
      fc.integer({ min: 1_700_000_000, max: 1_800_000_000 }),
    ),
    log: fc.record(
      { RemoteIp: address, Message: text, Url: fc.oneof(text, fc.webUrl()) },
      { requiredKeys: [] },
    ),
    labels: fc.record(
      {
        status: text,
        ruleId: text,
        country: fc.oneof(text, fc.constant('bg')),
        asn: fc.constantFrom('48090', 'x'),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ log, ...rest }) => ({ ...rest, log: JSON.stringify(log) }))

/** What a text becomes where it has no escape. */
function plain(value: string | undefined, isCef: boolean): string | undefined {
  // oxlint-disable-next-line no-control-regex
  const unescaped = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]/g
  return isCef ? value?.toWellFormed().replaceAll(unescaped, ' ') : value?.toWellFormed()
}

function expected({ action, client, rule }: Event, isCef: boolean) {
  return {
    action: plain(action, isCef),
    rule: isCef
      ? plain(rule?.id ?? action ?? 'none', isCef)?.replaceAll(/[\r\n]/g, ' ')
      : plain(rule?.id, isCef),
    address: plain(client?.address, isCef),
    asn: client?.asn,
    country: plain(client?.country, isCef),
  }
}

describe.each(Object.keys(readers) as (keyof typeof readers)[])('a line in %s', (name) => {
  const format = formats[name]({ raw: true })

  it('keeps id, time, action, rule, address, asn, country and the entry, and has only whole ips', () => {
    fc.assert(
      fc.property(entries, (received) => {
        const event = eventOf(received)
        const line = format.encode(event)
        expect(line).not.toMatch(/[\n\r\u0085\u2028\u2029]/)
        expect(fingerprintOf(format.identify(line)!)).toBe(event.fingerprint)
        const { ips, raw, ...rest } = readers[name](line)
        expect(rest).toEqual(expected(event, name === 'cef'))
        expect(raw).toEqual(JSON.parse(JSON.stringify(event.raw()), (_, value: unknown) => wellFormed(value)))
        for (const ip of ips) if (ip !== undefined) expect([ip, isIP(ip as string)]).not.toEqual([ip, 0])
        expect(format.encode(event)).toBe(line)
      }),
      { numRuns: 200 },
    )
  })
})

function wellFormed(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}
