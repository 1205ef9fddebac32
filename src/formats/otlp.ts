import type { Event, Identity } from '../domain/event/event.ts'
import { isObject, type Json } from '../domain/text/json.ts'
import { describe, filled, methods } from './describe-event.ts'
import { identityIn, jsonLine, lineFormat, type Parts, readObject } from './line.ts'

const eventName = 'bunny.shield.event'
const idKey = 'log.record.uid'
const timeKey = 'bunny.shield.time'

/**
 * One log record in the JSON encoding of OTLP, as it is in `resourceLogs[].scopeLogs[].logRecords[]` of a request,
 * https://opentelemetry.io/docs/specs/otlp. Attribute names follow the semantic conventions where these define one.
 */
export const createOtlpFormat = lineFormat({ name: 'otlp', encode, identify })

function encode(event: Event, { labels, log, other, raw, set }: Parts): string {
  const { action, client, match, request, response, rule, zone } = event
  const { url, category, message, country, otherCountry, severity } = describe(event)
  const nanoseconds = nanosecondsOf(event.time)
  const method = request?.method
  const isKnown = method !== undefined && methods.includes(method)
  const attributes: Record<string, string | number | undefined> = {
    [idKey]: event.id,
    'bunny.shield.zone.id': zone.id,
    'bunny.shield.zone.name': zone.name || undefined,
    'bunny.shield.action': action,
    'security_rule.uuid': rule?.id,
    'security_rule.name': rule?.message,
    'security_rule.category': category,
    'security_rule.ruleset.name': rule?.group,
    'http.request.method': method === undefined || isKnown ? method : '_OTHER',
    'http.request.method_original': isKnown ? undefined : method,
    'http.response.status_code': response?.status,
    'url.full': request?.url,
    'url.scheme': url?.scheme,
    'url.domain': url?.host,
    'url.path': url?.path,
    'url.query': url?.query,
    'user_agent.original': request?.userAgent,
    'client.address': client?.address,
    'geo.country.iso_code': country,
    'bunny.shield.country': otherCountry,
    'bunny.shield.client.asn': client?.asn,
    'bunny.shield.request.id': request?.id,
    'bunny.shield.pop': event.pop,
    'bunny.shield.match.operator': match?.operator,
    'bunny.shield.match.value': match?.value,
    // As text: collectors refuse messages with more than a hundred levels.
    'bunny.shield.labels': labels && jsonLine(labels),
    'bunny.shield.log': log && jsonLine(log),
    'bunny.shield.other': other && jsonLine(other),
    ...set,
    'log.record.original': raw && jsonLine(raw),
    [timeKey]: timeOf(nanoseconds) === event.time ? undefined : event.time,
  }
  return jsonLine({
    timeUnixNano: nanoseconds,
    severityNumber: severity.otlp,
    severityText: event.severity,
    eventName,
    body: filled({ stringValue: message }),
    attributes: Object.entries(attributes).flatMap(([key, value]) =>
      value === undefined ? [] : [{ key, value: anyValue(value) }],
    ),
  })
}

/** An AnyValue. Integers are decimal text, since they have 64 bits. */
function anyValue(value: string | number): object {
  return typeof value === 'string' ? { stringValue: value } : { intValue: String(value) }
}

/** Unsigned 64-bit nanoseconds as decimal text, beyond the whole numbers of JSON. */
function nanosecondsOf(time: string | undefined): string | undefined {
  const [, seconds, fraction = ''] = /^(.{19})\.(\d{3,9})Z$/.exec(time ?? '') ?? []
  const ms = seconds === undefined ? NaN : Date.parse(`${seconds}Z`)
  if (!(ms > 0)) return undefined
  const nanoseconds = BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
  return nanoseconds < 2n ** 64n ? String(nanoseconds) : undefined
}

/** The time with 3, 6 or 9 fractional digits: the fewest that keep its value. */
function timeOf(nanoseconds: unknown): string | undefined {
  if (typeof nanoseconds !== 'string' || !/^\d{10,20}$/.test(nanoseconds)) return undefined
  const at = new Date(Number(nanoseconds.slice(0, -9)) * 1000)
  const fraction = nanoseconds.slice(-9).replace(/(?:000){1,2}$/, '')
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString().replace('000Z', `${fraction}Z`)
}

function identify(line: string): Identity | undefined {
  const read = readObject(line)
  const attributes = read?.['attributes']
  if (read?.['eventName'] !== eventName || !Array.isArray(attributes)) return undefined
  const time = textIn(attributes, timeKey) ?? timeOf(read['timeUnixNano'])
  return identityIn(textIn(attributes, idKey), time)
}

function textIn(attributes: readonly Json[], key: string): unknown {
  const found = attributes.find((attribute) => isObject(attribute) && attribute['key'] === key)
  const value = isObject(found) ? found['value'] : undefined
  return isObject(value) ? value['stringValue'] : undefined
}
