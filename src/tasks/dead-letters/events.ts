import type { Event } from '../../domain/event/event.ts'
import type { Zone } from '../../domain/stream.ts'
import type { Config } from '../../config/schema.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import { messageOf } from '../../domain/failure.ts'
import { exactJson } from '../../domain/text/decode.ts'
import { isObject, type JsonObject } from '../../domain/text/json.ts'
import { formats } from '../../formats/registry.ts'
import { eventOfLine } from '../../shield/entries/to-event.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'

/** A zone that left the configuration may still have dead letters. */
export function zonesById(config: Config): (id: number) => Zone {
  const zones = new Map(config.zones.map((zone) => [zone.id, zone]))
  return (id) => zones.get(id) ?? { id, name: String(id), account: '' }
}

/** The event, or why it cannot be read. */
type ReadDeadLetter = { readonly event: unknown } | { readonly problem: string }

/** Reads the events of dead letters, in native form and redacted as configured now. */
export function deadLetterReader(config: Config): (deadLetter: DeadLetter) => ReadDeadLetter {
  const redo = redoneBy(config)
  const { encode } = formats.native()
  return (deadLetter) => {
    try {
      return { event: exactJson(encode(redo(deadLetter))) }
    } catch (error) {
      return { problem: messageOf(error) }
    }
  }
}

/** Maps what is kept by the present configuration: its names of zones, its redaction. Throws for damaged text. */
export function redoneBy(config: Config): (deadLetter: DeadLetter) => Event {
  const redactor = createRedactor(config.redact)
  const zoneOf = zonesById(config)
  return ({ zone, event, ...identity }) =>
    eventOfLine({ ...identity, zone, of: { raw: entryIn(event) } }, zoneOf(zone), redactor)
}

function entryIn(text: string): JsonObject {
  const entry = exactJson(text)
  if (!isObject(entry)) throw new Error('a stored event is damaged: it is not valid JSON')
  return entry
}
