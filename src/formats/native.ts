import type { Event, Identity, KeptEvent } from '../domain/event/event.ts'
import type { JsonObject } from '../domain/text/json.ts'
import { isObject } from '../domain/text/json.ts'
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
  return jsonLine({
    v: 1,
    id: event.id,
    time: event.time,
    zone: { id: event.zone.id, name: event.zone.name === '' ? undefined : event.zone.name },
    action: event.action,
    severity: event.severity,
    rule: ruleOf(event),
    request: requestOf(event),
    response: event.response && { status: event.response.status },
    client: clientOf(event),
    pop: event.pop,
    match: matchOf(event),
    ...included(event, include),
    raw: include.raw ? event.raw() : undefined,
  })
}

function ruleOf({ rule }: Event): object | undefined {
  if (rule === undefined) return undefined
  const { id, group, message } = rule
  if (id === undefined && group === undefined && message === undefined) return undefined
  return { id, group, message }
}

function requestOf({ request }: Event): object | undefined {
  if (request === undefined) return undefined
  const { id, method, url, userAgent } = request
  if (id === undefined && method === undefined && url === undefined && userAgent === undefined)
    return undefined
  return { id, method, url, userAgent }
}

function clientOf({ client }: Event): object | undefined {
  if (client === undefined) return undefined
  const { address, ip, asn, country } = client
  if (address === undefined && ip === undefined && asn === undefined && country === undefined)
    return undefined
  return { address, ip, asn, country }
}

function matchOf({ match }: Event): object | undefined {
  if (match === undefined) return undefined
  const { operator, value } = match
  if (operator === undefined && value === undefined) return undefined
  return { operator, value }
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
