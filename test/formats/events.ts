import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import type { Event } from '../../src/domain/event/event.ts'
import type { JsonObject } from '../../src/domain/text/json.ts'

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
