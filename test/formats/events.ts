import * as fc from 'fast-check'
import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import type { Event } from '../../src/domain/event/event.ts'
import type { JsonObject } from '../../src/domain/text/json.ts'
import { binaryText } from '../setup/binary-text.ts'

export interface EventParts extends Omit<Partial<Event>, 'raw' | 'fingerprint'> {
  readonly raw?: JsonObject
}

/** An event as the API's documentation shows one, with parts of it replaced. */
export function buildEvent(parts: EventParts = {}): Event {
  const { raw, ...rest } = parts
  const timeMs = 1_763_633_472_123
  const id = parts.id ?? 'f3b4e1a2-7a0e-4a7e-8a63-00000000abcd'
  const labels = parts.labels ?? {
    asn: '48090',
    country: 'BG',
    ruleId: '930130',
    severity: '',
    status: 'Blocked',
  }
  const log = parts.log ?? {
    ServerZoneId: 12,
    Message: 'Restricted File Access Attempt',
    Url: 'https://shop.example/.env?x=1',
    RemoteIp: '192.0.2.*',
    UrlEncodedBody: null,
    Headers: [{ Name: 'User-Agent', Value: 'Mozilla/5.0' }],
    TriggerMatch: { Key: 'PMF', Value: '.env' },
  }
  const event = {
    id,
    time: new Date(timeMs).toISOString(),
    timeMs,
    zone: { id: 101, name: 'shop' },
    action: 'Blocked',
    severity: 'critical',
    rule: { id: '930130', message: 'Restricted File Access Attempt' },
    request: { id: 'a1b2', method: 'GET', url: 'https://shop.example/.env?x=1', userAgent: 'Mozilla/5.0' },
    client: { address: '192.0.2.*', asn: 48_090, country: 'BG' },
    pop: 'SG',
    match: { operator: 'PMF', value: '.env' },
    labels,
    log,
    ...rest,
    raw: () => raw ?? { logId: id, timestamp: timeMs, log: JSON.stringify(log), labels },
  }
  return { ...event, fingerprint: fingerprintOf(event) }
}

export function buildEvents(count: number, prefix = 'event'): Event[] {
  return Array.from({ length: count }, (_, index) => buildEvent({ id: `${prefix}-${index}` }))
}

/** Any text at all: broken surrogates, line separators, quotes, controls and what has a meaning in CEF among it. */
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 30 }),
  binaryText({ minLength: 1, maxLength: 30 }),
  fc.constantFrom('\ud800', 'a\udfffb', '\\\ud800', '\\ud800', '\u2028', '\u0085', '\u202e', '"', '\0', '😀'),
  fc.constantFrom('a|b', 'c=d', ' e=f ', '\\', '\\n', '\n', 'line\nbreak\r', 'Blocked', '{"a":1}'),
)
const object = fc
  .dictionary(fc.oneof(text, fc.constantFrom('__proto__', 'toJSON', 'constructor')), fc.jsonValue())
  .map((value) => value as JsonObject)

function some<T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc.record(model, { requiredKeys: [] }) as fc.Arbitrary<Partial<T>>
}

const timeMs = fc.oneof(
  fc.integer({ min: 1, max: 4_000_000_000_000 }),
  fc.integer({ min: 1_700_000_000, max: 1_800_000_000 }).map((seconds) => seconds * 1000),
)

/** Events of all shapes, with entries that do not have to agree with them. */
export const anyEvent: fc.Arbitrary<Event> = fc
  .record({
    id: text,
    at: fc.option(fc.record({ timeMs, digits: fc.constantFrom('', '123', '123456') }), { nil: undefined }),
    zone: fc.record({ id: fc.nat(), name: fc.oneof(text, fc.constant('')) }),
    parts: some({
      action: text,
      severity: text.map((value) => value.replaceAll(/[A-Z]/g, 'x')),
      rule: some({ id: text, group: text, message: text }),
      request: some({ id: text, method: text, url: text, userAgent: text }),
      response: fc.record({ status: fc.integer({ min: 100, max: 599 }) }),
      client: some({ address: text, ip: text, asn: fc.nat(), country: text }),
      pop: text,
      match: some({ operator: text, value: text }),
    }),
    labels: object,
    log: object,
    entry: object,
    known: some({
      logId: fc.oneof(text, fc.jsonValue()),
      timestamp: fc.oneof(timeMs, fc.jsonValue()),
      shieldZoneId: fc.jsonValue(),
      shieldlogId: fc.jsonValue(),
      shieldlogTime: fc.jsonValue(),
    }),
    agrees: fc.boolean(),
  })
  .map(({ id, at, zone, parts, labels, log, entry, known, agrees }) => {
    const time = at && new Date(at.timeMs).toISOString().replace('Z', `${at.digits}Z`)
    const said = agrees ? { logId: id, ...(at && { timestamp: at.timeMs }) } : {}
    const event = { id, ...(at && time !== undefined && { time, timeMs: at.timeMs }) }
    const raw = () => ({ ...entry, ...known, ...said }) as JsonObject
    return { ...event, zone, ...parts, labels, log, raw, fingerprint: fingerprintOf(event) }
  })
