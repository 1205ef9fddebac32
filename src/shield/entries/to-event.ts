import { isIPv4, isIPv6 } from 'node:net'
import type { Event, KeptEvent } from '../../domain/event/event.ts'
import { exactJson, leniently } from '../../domain/text/decode.ts'
import {
  isExactNumber,
  isObject,
  jsonText,
  numberText,
  type Json,
  type JsonObject,
} from '../../domain/text/json.ts'
import { identitiesOf, identityOf, ownTextOf, withOwnId, type EntryIdentity } from './identities.ts'
import type { Redactor } from '../redaction/redact.ts'
import { fingerprintOf } from '../../domain/event/fingerprint.ts'

const nothing: JsonObject = {}

/**
 * Converts one entry to an event. Pure, never throws: an event of any entry keeps all of its content; what no field
 * carries is in `other`. The identity is computed before redaction, so that a changed redaction never makes an old event
 * look new. One literal: an object that grows by its members is copied several times.
 */
export function toEvent(
  entry: Json,
  zone: Event['zone'],
  redactor: Redactor,
  identity: EntryIdentity = identityOf(entry),
): Event {
  const { id, time, timeMs, fingerprint } = identity
  if (!isObject(entry)) {
    const kept = { text: textForm(redactor(nothing, entry).log) }
    return { id, fingerprint, zone, labels: nothing, log: kept, raw: () => kept }
  }
  const received = entry['log']
  const decoded = decodeLog(received)
  const redacted = redactor(entry, decoded)
  const { rest } = redacted
  const labels = isObject(rest['labels']) ? rest['labels'] : nothing
  const log = logObjectOf(redacted.log)
  const status = wholeTextOf(labels['status'] ?? inOtherCase(labels, 'status'))
  const isResponse = status !== undefined && /^[1-5]\d\d$/.test(status)
  const header = headersOf(log)
  const address = textOf(log['RemoteIp'] ?? inOtherCase(log, 'RemoteIp'))
  const held = log['TriggerMatch'] ?? inOtherCase(log, 'TriggerMatch')
  const trigger = isObject(held) ? held : nothing
  return {
    id,
    fingerprint,
    zone,
    time,
    timeMs,
    action: isResponse ? undefined : status,
    severity: textOf(labels['severity'] ?? inOtherCase(labels, 'severity'))?.toLowerCase(),
    rule: someOf({
      id: textOf(labels['ruleId'] ?? inOtherCase(labels, 'ruleId')),
      group: textOf(labels['ruleGroup'] ?? inOtherCase(labels, 'ruleGroup')),
      message: textOf(log['Message'] ?? inOtherCase(log, 'Message')),
    }),
    request: someOf({
      id: header('cdn-requestid'),
      method: textOf(labels['method'] ?? inOtherCase(labels, 'method')),
      url: textOf(log['Url'] ?? inOtherCase(log, 'Url')),
      userAgent: header('user-agent'),
    }),
    response: isResponse ? { status: Number(status) } : undefined,
    client: someOf({
      address,
      ip: address === undefined ? undefined : wholeIp(address),
      asn: asnOf(wholeTextOf(labels['asn'] ?? inOtherCase(labels, 'asn'))),
      country: countryOf(textOf(labels['country'] ?? inOtherCase(labels, 'country'))),
    }),
    pop: textOf(labels['serverZone'] ?? inOtherCase(labels, 'serverZone')),
    match: someOf({
      operator: textOf(trigger['Key'] ?? inOtherCase(trigger, 'Key')),
      value: textOf(trigger['Value'] ?? inOtherCase(trigger, 'Value')),
    }),
    other: otherOf(rest, time),
    labels,
    log,
    raw() {
      if (redacted.log === decoded) return rest
      return { ...rest, log: typeof received === 'string' ? textForm(redacted.log) : redacted.log }
    },
  }
}

function textForm(log: Json): string {
  return typeof log === 'string' ? log : jsonText(log)
}

/** The members of an entry that no field of its event carries; undefined if there are none. */
function otherOf(entry: JsonObject, time: string | undefined): JsonObject | undefined {
  let names: string[] | undefined
  for (const name in entry) if (!isCarried(name, entry[name]!, time)) (names ??= []).push(name)
  // Assigns none: `__proto__` may be one of the names.
  return names && Object.fromEntries(names.map((name) => [name, entry[name]!]))
}

function isCarried(name: string, value: Json, time: string | undefined): boolean {
  if (name === 'log') return true
  if (name === 'logId') return value === null || value === '' || ownTextOf(value) !== undefined
  if (name === 'timestamp') return value === null || value === '' || time !== undefined
  return name === 'labels' && (value === null || isObject(value))
}

/** Of a member that is absent under its usual name: the one whose name differs in case only. */
function inOtherCase(object: JsonObject, name: string): Json | undefined {
  const plain = name.toLowerCase()
  for (const key in object) if (isNamed(key, plain)) return object[key]
  return undefined
}

/** Undefined where all members are. */
function someOf<T extends object>(members: T): T | undefined {
  for (const key in members) if (members[key] !== undefined) return members
  return undefined
}

/** A SIEM cannot look up a masked or unspecified address, nor one with a host's scope: such text is not an IP. */
function wholeIp(address: string): string | undefined {
  const text = address.trim()
  if (text === '0.0.0.0' || text === '::' || text.includes('%')) return undefined
  const isWhole = text.includes(':') ? isIPv6(text) : isIPv4(text)
  return isWhole ? text : undefined
}

function asnOf(text: string | undefined): number | undefined {
  const digits = /^(?:AS)?\s*(\d{1,10})$/i.exec(text?.trim() ?? '')?.[1]
  const asn = Number(digits)
  return asn <= 4_294_967_295 ? asn : undefined
}

function countryOf(text: string | undefined): string | undefined {
  return text !== undefined && /^[a-z]{2}$/i.test(text) ? text.toUpperCase() : text
}

/**
 * Decodes the `log` of an entry: the object behind its text, which may be JSON within JSON, begin with a byte order mark,
 * or hold the object as the one item of a list. Anything else stays as received.
 */
export function decodeLog(received: Json | undefined): Json {
  // Nearly every one.
  if (typeof received === 'string' && received.startsWith('{'))
    return leniently(received, exactJson) ?? received
  let value: Json | undefined = received ?? null
  for (let level = 0; typeof value === 'string' && level < 3; level++) {
    // White space includes the mark.
    const text = value.trimStart()
    value = /^[[{"]/.test(text) ? leniently(text, exactJson) : undefined
  }
  return value !== undefined && isObject(onlyItem(value)) ? value : (received ?? null)
}

function onlyItem(value: Json): Json {
  return Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value
}

/** The log of an event, always an object: that of a list which holds nothing else; any other value is put in `text`. */
export function logObjectOf(log: Json): JsonObject {
  if (log === null || log === '') return nothing
  if (typeof log === 'string') return { text: log }
  const item = onlyItem(log)
  return isObject(item) ? item : { text: jsonText(log) }
}

/** A non-blank text or a number as text; undefined for anything else. */
export function textOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return isPlain(value.charCodeAt(0)) || /\S/.test(value) ? value : undefined
  return numberText(value)
}

/** As `textOf`, of what is a whole number in any spelling: `403.0`. */
function wholeTextOf(value: Json | undefined): string | undefined {
  const number = isExactNumber(value) ? Number(value.rawJSON) : NaN
  return Number.isSafeInteger(number) ? String(number) : textOf(value)
}

/** Nearly all texts begin with such a character; this check avoids the regular expression for them. */
function isPlain(code: number): boolean {
  return code > 0x20 && code < 0x7f
}

/** Reads headers by lower-case name from a list of `{Name, Value}` or an object: the first one with a value. */
function headersOf(log: JsonObject): (name: string) => string | undefined {
  const held = log['Headers'] ?? inOtherCase(log, 'Headers')
  const list = isObject(held) ? Object.entries(held).map(([Name, Value]) => ({ Name, Value })) : held
  return (name) => {
    for (const header of Array.isArray(list) ? (list as readonly Json[]) : []) {
      if (!isObject(header) || !isNamed(header['Name'] ?? inOtherCase(header, 'Name'), name)) continue
      const text = textOf(header['Value'] ?? inOtherCase(header, 'Value'))
      if (text !== undefined) return text
    }
    return undefined
  }
}

/** Compares the length first: it rules out nearly all names without a lower-case copy. */
function isNamed(held: Json | undefined, name: string): boolean {
  return typeof held === 'string' && held.length === name.length && held.toLowerCase() === name
}

/**
 * Rebuilds the event of a stored line or of a dead letter: the same id and time, mapped as usual, and redacted once more
 * by the current configuration. What redaction has hidden stays hidden.
 */
export function eventOfLine(kept: KeptEvent, zone: Event['zone'], redactor: Redactor): Event {
  const identity = identityIn(kept)
  return toEvent(entryOf(kept, identity), zone, redactor, identity)
}

function identityIn({ id, time }: KeptEvent): EntryIdentity {
  const timeMs = Date.parse(time ?? '')
  return {
    id,
    time,
    timeMs: Number.isNaN(timeMs) ? undefined : timeMs,
    fingerprint: fingerprintOf({ id, time }),
  }
}

function entryOf({ id, of }: KeptEvent, { timeMs }: EntryIdentity): Json {
  if ('raw' in of) return textEntry(of.raw, id) ?? of.raw
  const { labels, log, other } = of
  const time = timeMs !== undefined && { timestamp: timeMs }
  // `other` before the others for its order, and after them for its values.
  return { ...other, logId: id, ...time, log: textLog(log) ?? log, labels, ...other }
}

/** An entry that was no object is stored as `{ text }`; an entry received as `{ text }` has that object's id. */
function textEntry(raw: JsonObject, id: string): string | undefined {
  const text = onlyText(raw)
  return text !== undefined && identityOf(raw).id !== id ? text : undefined
}

/** A log that was plain text is redacted as text; if decoding changes the text, the log was an object. */
function textLog(log: JsonObject): string | undefined {
  const text = onlyText(log)
  return text !== '' && decodeLog(text) === text ? text : undefined
}

/** The text of an object that holds nothing else. */
function onlyText({ text, ...others }: JsonObject): string | undefined {
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : undefined
}

/**
 * Turns the entries of a page into events. Only the identity is computed for all of them: most events of a re-read are
 * duplicates, and a decoded entry takes three times the memory. The other members are decoded on access and cached for
 * one event, since events are mapped one after the other.
 */
export function eventsOf(
  entries: readonly Json[],
  zone: Event['zone'],
  redactor: Redactor,
  identities: readonly EntryIdentity[] = identitiesOf(entries).identities,
): Event[] {
  let latest: EntryEvent | undefined
  let decoded: Event | undefined
  const decode: Decode = (event, entry) => {
    if (decoded === undefined || latest !== event) {
      decoded = toEvent(entry, zone, redactor, event)
      latest = event
    }
    return decoded
  }
  return entries.map(
    (entry, index) => new EntryEvent(entry, identities[index]!, zone, decode) as object as Event,
  )
}

/** The entry of an event that `eventsOf` has made, as received. */
export const receivedEntry = (event: Event): Json => EntryEvent.entryOf(event as object as EntryEvent)

type Decode = (event: EntryEvent, entry: Json) => Event

/** The members that are known without decoding, and the way to the others. */
class EntryEvent {
  readonly id: string
  readonly time: string | undefined
  readonly timeMs: number | undefined
  readonly fingerprint: bigint
  readonly zone: Event['zone']
  readonly #sharedFingerprint: bigint | undefined
  readonly #entry: Json
  readonly #decode: Decode

  constructor(entry: Json, identity: EntryIdentity, zone: Event['zone'], decode: Decode) {
    const { id, time, timeMs, fingerprint, sharedFingerprint } = identity
    this.id = id
    this.#sharedFingerprint = sharedFingerprint
    this.time = time
    this.timeMs = timeMs
    this.fingerprint = fingerprint
    this.zone = zone
    this.#entry = entry
    this.#decode = decode
  }

  static {
    const names = 'action severity rule request response client pop match other labels log raw'.split(' ')
    for (const name of names as (keyof Event)[])
      Object.defineProperty(this.prototype, name, {
        get(this: EntryEvent) {
          return this.#decode(this, this.#entry)[name]
        },
      })
  }

  static entryOf(event: EntryEvent): Json {
    return event.#entry
  }

  get hasOwnId(): boolean {
    return this.#sharedFingerprint !== undefined
  }

  otherFingerprint(): bigint {
    return this.#sharedFingerprint ?? withOwnId(this.#entry, this).fingerprint
  }
}
