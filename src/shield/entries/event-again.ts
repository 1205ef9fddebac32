import type { Event, Json } from '../../domain/event/event.ts'
import { jsonText } from '../../domain/text/json-text.ts'
import type { Redactor } from '../redaction/redact.ts'
import { toEvent } from './to-event.ts'

/**
 * An event that was kept, redacted once more as the configuration now wants it. Who it is stays: an id that was made of
 * the whole entry cannot be made of what redaction has left of it.
 */
export function eventAgain(event: Event, zone: Event['zone'], redactor: Redactor): Event {
  return toEvent(receivedOf(event), zone, redactor, event)
}

/** An entry that was no object is kept as one; only then is the log the same as the entry. */
function receivedOf(event: Event): Json {
  const raw = event.raw()
  const { text } = raw
  return typeof text === 'string' && jsonText(raw) === jsonText(event.log) ? text : raw
}
