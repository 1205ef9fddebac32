import type { Event, KeptEvent } from '../../domain/event/event.ts'
import type { Json, JsonObject } from '../../domain/text/json.ts'
import { jsonText } from '../../domain/text/json-text.ts'
import type { Redactor } from '../redaction/redact.ts'
import { toEvent, decodeLog } from './to-event.ts'
import { fingerprintOf } from '../../domain/event/fingerprint.ts'
import { type EntryIdentity, identityOf } from './identities.ts'

/**
 * A stored event, redacted once more by the current configuration. It keeps its identity: an id that is a hash of the
 * whole entry cannot be computed from the redacted entry.
 */
export function eventAgain(event: Event, zone: Event['zone'], redactor: Redactor): Event {
  return toEvent(receivedOf(event), zone, redactor, event)
}

/** An entry that was no object is stored as `{ text }`; only then does its log equal the entry. */
function receivedOf(event: Event): Json {
  const raw = event.raw()
  const { text } = raw
  return typeof text === 'string' && jsonText(raw) === jsonText(event.log) ? text : raw
}

/**
 * Rebuilds the event of a stored line: the same id and time, mapped as usual, and redacted once more by the current
 * configuration. What redaction has hidden in the line stays hidden.
 */
export function eventOfLine(kept: KeptEvent, zone: Event['zone'], redactor: Redactor): Event {
  const identity = identityIn(kept)
  return toEvent(entryOf(kept, identity), zone, redactor, identity)
}

function identityIn({ id, time }: KeptEvent): EntryIdentity {
  if (time === undefined) return { id, fingerprint: fingerprintOf({ id }) }
  const timeMs = Date.parse(time)
  return { id, time, fingerprint: fingerprintOf({ id, time }), ...(!Number.isNaN(timeMs) && { timeMs }) }
}

function entryOf({ id, of }: KeptEvent, { timeMs }: EntryIdentity): Json {
  if ('raw' in of) return textEntry(of.raw, id) ?? of.raw
  const { labels, log } = of
  return { logId: id, ...(timeMs !== undefined && { timestamp: timeMs }), log: textLog(log) ?? log, labels }
}

/** An entry that was no object is stored as `{ text }`; an entry received as `{ text }` has that object's id. */
function textEntry(raw: JsonObject, id: string): string | undefined {
  const { text, ...others } = raw
  if (typeof text !== 'string' || Object.keys(others).length > 0) return undefined
  return identityOf(raw).id === id ? undefined : text
}

/** A log that was plain text is redacted as text; if decoding changes the text, the log was an object. */
function textLog(log: JsonObject): string | undefined {
  const { text, ...others } = log
  if (typeof text !== 'string' || text === '' || Object.keys(others).length > 0) return undefined
  return decodeLog(text) === text ? text : undefined
}
