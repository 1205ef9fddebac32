import type { Event, KeptEvent } from '../domain/event/event.ts'
import { exactJson } from '../domain/text/decode.ts'
import { isObject } from '../domain/text/json.ts'
import type { Column } from '../ports/delivery.ts'
import { identifyBy, identityIn, jsonLine, labelsAndLog, lineFormat, type Parts, readObject } from './line.ts'
import { tableOf } from './table.ts'

/**
 * The native format, described by `native-schema.ts`. The order of keys is fixed: what a receiver cuts off of a long line
 * is what matters least.
 */
export const createNativeFormat = lineFormat({
  name: 'native',
  defaults: { ...labelsAndLog, other: true },
  encode: (event, parts) => jsonLine(members(event, parts)),
  table: (partsOf) => tableOf({ layout: 'native/1', columns, constants: { v: '1' } }, members, partsOf),
  identify: identifyBy('id', 'time', { v: 1 }),
  readBack,
})

/**
 * One object literal and one JSON.stringify: faster than joining strings, and omits undefined values. Nested objects have
 * their keys in the order in which the normaliser writes them.
 */
function members(event: Event, { labels, log, other, raw, set }: Parts): object {
  const { zone } = event
  return {
    v: 1,
    id: event.id,
    time: event.time,
    zone: { id: zone.id, name: zone.name || undefined },
    action: event.action,
    severity: event.severity,
    rule: event.rule,
    client: event.client,
    response: event.response,
    pop: event.pop,
    match: event.match,
    request: event.request,
    other,
    labels,
    log,
    raw,
    set,
  }
}

/** In the order of the line. Columns are only added, at the end; `time_text` has the time as the line has it. */
const columns: readonly Column[] = [
  { name: 'id', type: 'text' },
  { name: 'time', type: 'time' },
  { name: 'time_text', type: 'text', at: ['time'] },
  { name: 'zone_id', type: 'int64', at: ['zone', 'id'] },
  { name: 'zone_name', type: 'text', at: ['zone', 'name'] },
  { name: 'action', type: 'text' },
  { name: 'severity', type: 'text' },
  { name: 'rule_id', type: 'text', at: ['rule', 'id'] },
  { name: 'rule_group', type: 'text', at: ['rule', 'group'] },
  { name: 'rule_message', type: 'text', at: ['rule', 'message'] },
  { name: 'client_address', type: 'text', at: ['client', 'address'] },
  { name: 'client_ip', type: 'text', at: ['client', 'ip'] },
  { name: 'client_asn', type: 'int64', at: ['client', 'asn'] },
  { name: 'client_country', type: 'text', at: ['client', 'country'] },
  { name: 'response_status', type: 'int32', at: ['response', 'status'] },
  { name: 'pop', type: 'text' },
  { name: 'match_operator', type: 'text', at: ['match', 'operator'] },
  { name: 'match_value', type: 'text', at: ['match', 'value'] },
  { name: 'request_id', type: 'text', at: ['request', 'id'] },
  { name: 'request_method', type: 'text', at: ['request', 'method'] },
  { name: 'request_url', type: 'text', at: ['request', 'url'] },
  { name: 'request_user_agent', type: 'text', at: ['request', 'userAgent'] },
  { name: 'other', type: 'json' },
  { name: 'labels', type: 'json' },
  { name: 'log', type: 'json' },
  { name: 'raw', type: 'json' },
  { name: 'set', type: 'json' },
]

function readBack(line: string): KeptEvent | undefined {
  const { v, id, time, zone, labels, log, other, raw } = readObject(line, exactJson) ?? {}
  const identity = v === 1 ? identityIn(id, time) : undefined
  if (identity === undefined || !isObject(zone) || !Number.isSafeInteger(zone['id'])) return undefined
  const kept = { ...identity, zone: Number(zone['id']) }
  if (isObject(raw)) return { ...kept, of: { raw } }
  // All other members derive from these.
  if (!isObject(labels) || !isObject(log)) return undefined
  return { ...kept, of: { labels, log, ...(isObject(other) && { other }) } }
}
