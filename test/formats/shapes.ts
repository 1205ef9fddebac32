import type { Event } from '../../src/domain/event/event.ts'
import { exactJson } from '../../src/domain/text/decode.ts'
import type { Json, JsonObject } from '../../src/domain/text/json.ts'
import { toEvent } from '../../src/shield/entries/to-event.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { defaults, entry, log, zone } from '../shield/samples.ts'

function logged(changes: Record<string, Json>): JsonObject {
  return entry({ log: JSON.stringify({ ...log, ...changes }) })
}

function labelled(changes: Record<string, Json>): JsonObject {
  return entry({ labels: { ...(entry()['labels'] as JsonObject), ...changes } })
}

const hostile = 'a|b=c\\d\ne\rf\u2028g\u202eh\0i CEF:0|x|y rt=1 "{}'

/** Entries of every shape that the API is known to send, or may be made to send by a client. */
const entries: Readonly<Record<string, Json>> = {
  'masked address': entry(),
  'whole IPv4 address': logged({ RemoteIp: '203.0.113.7' }),
  'IPv6 address': logged({ RemoteIp: '2001:db8::7' }),
  'unspecified address': logged({ RemoteIp: '0.0.0.0' }),
  'no log': entry({ log: null }),
  'text log': entry({ log: 'rule 930130 matched' }),
  'no labels': entry({ labels: null }),
  'unknown action': labelled({ status: 'Tarpitted' }),
  'HTTP status as action': labelled({ status: '403' }),
  'severity and rule group': labelled({ severity: 'CRITICAL', ruleGroup: 'REQUEST-930' }),
  'unknown severity': labelled({ severity: 'EMERGENCY', ruleId: 'custom-1' }),
  'unusual method and country': labelled({ method: 'PROPFIND', country: 'Atlantis', asn: 'none' }),
  'labels that are not known': labelled({ 'new.label': 'x', empty: '' }),
  'no id': entry({ logId: '' }),
  'a time in microseconds': entry({ timestamp: 1_763_640_000_123_456 }),
  'no time': entry({ timestamp: null }),
  'what no field carries': {
    ...entry({ labels: [{ Key: 'ruleId', Value: '941100' }] }),
    ja4: 't13d1516h2_8daaf6152771',
    score: exactJson('[1.50]')!,
  },
  'relative URL with a port': logged({ Url: 'https://[2001:db8::1]:8443/a/../b?q=1#f' }),
  'URL that is none': logged({ Url: '/only/a/path?x=1' }),
  'hostile texts': entry({
    log: JSON.stringify({
      ...log,
      Message: hostile,
      Url: hostile,
      TriggerMatch: { Key: hostile, Value: hostile },
    }),
    labels: { status: hostile, ruleId: hostile, country: hostile, method: hostile, ruleGroup: hostile },
  }),
}

export const shapes: readonly (readonly [string, Event])[] = Object.entries(entries).map(
  ([name, received]) => [name, eventOf(received)],
)

/** Texts as long as attackers can make them. */
export const long: Event = eventOf(
  entry({
    log: JSON.stringify({
      ...log,
      Message: 'm'.repeat(65_536),
      Url: `https://x.example/${'😀'.repeat(32_768)}`,
    }),
    labels: { status: 'x'.repeat(65_536), ruleId: 'y'.repeat(65_536), country: 'z'.repeat(65_536) },
  }),
)

export function eventOf(received: Json): Event {
  return toEvent(received, zone, createRedactor(defaults))
}
