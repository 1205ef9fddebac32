import type { Event, KeptEvent } from '../domain/event/event.ts'
import { exactJson } from '../domain/text/decode.ts'
import { isObject } from '../domain/text/json.ts'
import { identifyBy, identityIn, jsonLine, labelsAndLog, lineFormat, type Parts, readObject } from './line.ts'

/**
 * The native format, described by `native-schema.ts`. The order of keys is fixed: what a receiver cuts off of a long line
 * is what matters least.
 */
export const createNativeFormat = lineFormat({
  name: 'native',
  defaults: labelsAndLog,
  encode,
  identify: identifyBy('id', 'time', { v: 1 }),
  readBack,
})

/**
 * One object literal and one JSON.stringify: faster than joining strings, and omits undefined values. Nested objects have
 * their keys in the order in which the normaliser writes them.
 */
function encode(event: Event, { labels, log, raw, set }: Parts): string {
  const { zone } = event
  return jsonLine({
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
    other: event.other,
    labels,
    log,
    raw,
    set,
  })
}

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
