import type { Event } from '../../../../src/domain/event/event.ts'
import type { EventOutcome, Preset, Verdict } from '../../../../src/sinks/http/protocol/preset.ts'
import type { Got } from '../destination-server.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { createPreset } from '../../../../src/sinks/http/presets/registry.ts'
import { formats } from '../../../../src/formats/registry.ts'

/** Ids of the events in a body, in their order: every protocol holds a native line, whole or as text in JSON. */
export function idsIn({ text }: Got): string[] {
  return [...text.matchAll(/\bevent-\d+\b/g)]
    .map(([id]) => id)
    .filter((id, at, all) => all.indexOf(id) === at)
}

/** The secret of a request in a header. */
export function headerOf(name: string) {
  return ({ headers }: Got): string => String(headers[name] ?? '')
}

/** A destination that answers for a body as a whole. */
export function wholeBody(taken: Reply, unauthorised: Reply) {
  return {
    taken: () => taken,
    refused: () => ({ reply: { status: 400, body: 'bad request' }, stored: [] }),
    unauthorised,
  }
}

/** A preset with these settings, and the defaults of all others. */
export function presetWith(given: object): Preset {
  const settings = HttpSinkConfig.parse({ type: 'http', ...given })
  return createPreset(settings, formats[settings.format]())
}

interface Read {
  readonly kind: Verdict['kind']
  readonly outcomes?: ReadonlyMap<string, EventOutcome>
}

/** How such a preset reads an answer to a request with these events; outcomes are by id. */
export function readWith(given: object, events: readonly Event[]): (reply: Reply) => Read {
  const preset = presetWith(given)
  return ({ status, body = '', headers = {} }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return byId(preset.read({ status, headers, body: Buffer.from(text), whole: true }, events))
  }
}

function byId(verdict: Verdict): Read {
  if (verdict.kind !== 'each') return verdict
  return { ...verdict, outcomes: new Map([...verdict.outcomes].map(([{ id }, outcome]) => [id, outcome])) }
}
