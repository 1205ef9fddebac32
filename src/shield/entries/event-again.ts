import type { Event } from '../../domain/event/event.ts'
import type { Json } from '../../domain/text/json.ts'
import { jsonText } from '../../domain/text/json-text.ts'
import type { Redactor } from '../redaction/redact.ts'
import { toEvent } from './to-event.ts'

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
