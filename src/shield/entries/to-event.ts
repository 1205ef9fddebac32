import { isIPv4, isIPv6 } from 'node:net'
import type { Event } from '../../domain/event/event.ts'
import type { Json, JsonObject } from '../../domain/text/json.ts'
import { isObject } from '../../domain/text/json.ts'
import { jsonText } from '../../domain/text/json-text.ts'
import { type EntryIdentity, identityOf } from './entry-identity.ts'
import { decodeLog, headersOf, logObjectOf, textOf } from './entry-log.ts'
import type { Redactor } from '../redaction/redact.ts'

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

const nothing: JsonObject = {}

/**
 * Converts one entry to an event. Pure, never throws: an event of any entry keeps all of its content. The identity is
 * computed before redaction, so that a changed redaction never makes an old event look new.
 */
export function toEvent(
  entry: Json,
  zone: Event['zone'],
  redactor: Redactor,
  identity: EntryIdentity = identityOf(entry),
): Event {
  if (!isObject(entry)) return eventWithoutKeys(entry, identity, zone, redactor)
  const received = entry['log']
  const decoded = decodeLog(received)
  const { rest, log } = redactor(entry, decoded)
  const event: Mutable<Event> = {
    id: identity.id,
    fingerprint: identity.fingerprint,
    zone,
    labels: isObject(rest['labels']) ? rest['labels'] : nothing,
    log: logObjectOf(log),
    raw: () =>
      log === decoded ? rest : { ...rest, log: typeof received === 'string' ? textForm(log) : log },
  }
  const { time, timeMs } = identity
  if (time !== undefined) event.time = time
  if (timeMs !== undefined) event.timeMs = timeMs
  addLabels(event)
  addLog(event)
  return event
}

function eventWithoutKeys(
  entry: Json,
  { id, fingerprint }: EntryIdentity,
  zone: Event['zone'],
  redactor: Redactor,
): Event {
  const { log } = redactor(nothing, entry)
  const text = textForm(log)
  const kept = { text }
  return { id, fingerprint, zone, labels: nothing, log: kept, raw: () => kept }
}

function textForm(log: Json): string {
  return typeof log === 'string' ? log : jsonText(log)
}

function addLabels(event: Mutable<Event>): void {
  const { labels } = event
  const status = textOf(labels['status'])
  if (status !== undefined) {
    if (/^[1-5]\d\d$/.test(status)) event.response = { status: Number(status) }
    else event.action = status
  }
  const severity = textOf(labels['severity'])
  if (severity !== undefined) event.severity = severity.toLowerCase()
  const pop = textOf(labels['serverZone'])
  if (pop !== undefined) event.pop = pop
}

function addLog(event: Mutable<Event>): void {
  const { labels, log } = event
  const rule = present({
    id: textOf(labels['ruleId']),
    group: textOf(labels['ruleGroup']),
    message: textOf(log['Message']),
  })
  if (rule !== undefined) event.rule = rule
  const header = headersOf(log)
  const request = present({
    id: header('cdn-requestid'),
    method: textOf(labels['method']),
    url: textOf(log['Url']),
    userAgent: header('user-agent'),
  })
  if (request !== undefined) event.request = request
  const address = textOf(log['RemoteIp'])
  const client = present({
    address,
    ip: address === undefined ? undefined : wholeIp(address),
    asn: asnOf(textOf(labels['asn'])),
    country: countryOf(textOf(labels['country'])),
  })
  if (client !== undefined) event.client = client
  const trigger = log['TriggerMatch']
  if (!isObject(trigger)) return
  const match = present({ operator: textOf(trigger['Key']), value: textOf(trigger['Value']) })
  if (match !== undefined) event.match = match
}

/** The object without its absent members; undefined when nothing is left. */
function present<T extends object>(members: T): { [Key in keyof T]?: NonNullable<T[Key]> } | undefined {
  const kept: { [Key in keyof T]?: NonNullable<T[Key]> } = {}
  let some = false
  for (const key in members) {
    const value = members[key]
    if (value === undefined || value === null) continue
    kept[key] = value
    some = true
  }
  return some ? kept : undefined
}

/** A SIEM cannot look up a masked or unspecified address, nor one with a host's scope: such text is not an IP. */
function wholeIp(address: string): string | undefined {
  const text = address.trim()
  if (text === '0.0.0.0' || text === '::' || text.includes('%')) return undefined
  const isWhole = text.includes(':') ? isIPv6(text) : isIPv4(text)
  return isWhole ? text : undefined
}

function asnOf(text: string | undefined): number | undefined {
  const digits = text === undefined ? undefined : /^\s*(?:AS)?\s*(\d{1,10})\s*$/i.exec(text)?.[1]
  const asn = Number(digits)
  return asn <= 4_294_967_295 ? asn : undefined
}

function countryOf(text: string | undefined): string | undefined {
  return text !== undefined && /^[a-z]{2}$/i.test(text) ? text.toUpperCase() : text
}
