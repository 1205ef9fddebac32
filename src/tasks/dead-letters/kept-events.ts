import type { Config } from '../../config/schema.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import { messageOf } from '../../domain/failure.ts'
import { exactJson } from '../../domain/text/decode.ts'
import { isObject, type JsonObject } from '../../domain/text/json.ts'
import { formats } from '../../formats/registry.ts'
import type { DeadLetterWork } from './replay.ts'
import { eventOfLine } from '../../shield/entries/to-event.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'
import { heldSinks } from '../../assemble/held-sinks.ts'
import type { Work } from '../../assemble/work.ts'

/** Replays or drops dead letters of an open store, with the streams taken meanwhile. */
export async function changeDeadLetters<Result>(
  work: Work,
  { delivers }: { readonly delivers: boolean },
  change: (over: DeadLetterWork) => Promise<Result>,
): Promise<Result> {
  const { config, store } = work
  const { deps, sinks } = await work.shipping({ delivers })
  const held = await heldSinks(config, store)
  const over = { deps, sinks, held, zoneOf: zonesById(config), redo: redoneBy(config) }
  return work.beating(() => change(over))
}

/** A zone that left the configuration may still have dead letters. */
function zonesById(config: Config): DeadLetterWork['zoneOf'] {
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
function redoneBy(config: Config): DeadLetterWork['redo'] {
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
