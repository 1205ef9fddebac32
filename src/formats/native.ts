import type { Event, Identity, KeptEvent } from '../domain/event/event.ts'
import type { JsonObject } from '../domain/text/json.ts'
import { isObject } from '../domain/text/json.ts'
import { filled } from './describe-event.ts'
import { identityIn, jsonLine, labelsAndLog, lineFormat, type Parts, readObject } from './line.ts'

/** The native format, described by `native-schema.ts`. The order of keys is fixed. */
export const createNativeFormat = lineFormat({
  name: 'native',
  defaults: labelsAndLog,
  encode,
  identify,
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
    rule: filled(event.rule),
    request: filled(event.request),
    response: event.response,
    client: filled(event.client),
    pop: event.pop,
    match: filled(event.match),
    labels,
    log,
    raw,
    set,
  })
}

function identify(line: string): Identity | undefined {
  return identityOf(readObject(line))
}

/** All other members derive from these two. */
function readBack(line: string): KeptEvent | undefined {
  const read = readObject(line)
  const identity = identityOf(read)
  if (read === undefined || identity === undefined) return undefined
  const { zone } = read
  const of = heldBy(read)
  if (!isObject(zone) || of === undefined) return undefined
  return Number.isSafeInteger(zone['id']) ? { ...identity, zone: Number(zone['id']), of } : undefined
}

function heldBy({ labels, log, raw }: JsonObject): KeptEvent['of'] | undefined {
  if (isObject(raw)) return { raw }
  return isObject(labels) && isObject(log) ? { labels, log } : undefined
}

function identityOf(read: JsonObject | undefined): Identity | undefined {
  return read?.['v'] === 1 ? identityIn(read['id'], read['time']) : undefined
}
