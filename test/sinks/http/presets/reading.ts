import type { Event } from '../../../../src/domain/event/event.ts'
import { formats } from '../../../../src/formats/registry.ts'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { createPreset } from '../../../../src/sinks/http/presets/registry.ts'
import type { Preset, Verdict } from '../../../../src/sinks/http/protocol/preset.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'

/** A preset with these settings, and the defaults of all others. */
export function presetWith(given: object): Preset {
  const settings = HttpSinkConfig.parse({ type: 'http', ...given })
  return createPreset(settings, formats[settings.format]())
}

/** How such a preset reads an answer to a request with these events. */
export function readWith(given: object, events: readonly Event[]): (reply: Reply) => Verdict {
  const preset = presetWith(given)
  return ({ status, body = '', headers = {} }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return preset.read({ status, headers, body: Buffer.from(text), whole: true }, events)
  }
}
