import type { Event, Identity, KeptEvent } from '../domain/event/event.ts'
import type { JsonObject } from '../domain/text/json.ts'
import { isObject } from '../domain/text/json.ts'
import { filled } from './describe-event.ts'
import { type Include, included, jsonLine, labelsAndLog, lineFormat, readObject } from './line.ts'

/** The native format, described by `native-schema.ts`. The order of keys is fixed. */
export const createNativeFormat = lineFormat({
  name: 'native',
  defaults: labelsAndLog,
  encode,
  identify,
  readBack,
})

/** One object literal and one JSON.stringify: faster than joining strings, and omits undefined values. */
function encode(event: Event, include: Include): string {
  const { zone, rule, request, client, match } = event
  return jsonLine({
    v: 1,
    id: event.id,
    time: event.time,
    zone: { id: zone.id, name: zone.name === '' ? undefined : zone.name },
    action: event.action,
    severity: event.severity,
    rule: rule && filled({ id: rule.id, group: rule.group, message: rule.message }),
    request:
      request &&
      filled({ id: request.id, method: request.method, url: request.url, userAgent: request.userAgent }),
    response: event.response && { status: event.response.status },
    client:
      client && filled({ address: client.address, ip: client.ip, asn: client.asn, country: client.country }),
    pop: event.pop,
    match: match && filled({ operator: match.operator, value: match.value }),
    ...included(event, include),
    raw: include.raw ? event.raw() : undefined,
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
  if (read === undefined || read['v'] !== 1 || typeof read['id'] !== 'string') return undefined
  const { id, time } = read
  if (time === undefined) return { id }
  return typeof time === 'string' ? { id, time } : undefined
}
