import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import type { Format } from '../../ports/delivery.ts'
import type { ObjectSettings } from './settings.ts'
import { compressors, joinTexts, lineOf, type Text } from '../lines.ts'

/** What an object is written as, and how the names of such objects end. */
export const suffixes = { gzip: 'ndjson.gz', zstd: 'ndjson.zst' }
export type Form = keyof typeof suffixes

export const contentTypes: Readonly<Record<Form, string>> = {
  gzip: 'application/x-ndjson',
  zstd: 'application/x-ndjson',
}

/** As the settings say. */
export function formOf({ compress }: Pick<ObjectSettings, 'compress'>): Form {
  return compress
}

export function isForm(text: string): text is Form {
  return Object.hasOwn(suffixes, text)
}

/** The events that one object holds, and those that none can hold. */
export interface Draft {
  readonly events: readonly Event[]
  readonly refusals: readonly Refusal[]
  /** Of their lines. */
  readonly bytes: number
  /** More events were given than one object may hold. */
  readonly isPart: boolean
  body(signal: AbortSignal): Promise<Buffer>
}

/** As many of the events as one object may hold, but at least one. */
export function draftOf(given: readonly Event[], form: Form, format: Format, maxBytes: number): Draft {
  const [events, refusals, lines]: [Event[], Refusal[], Text[]] = [[], [], []]
  let bytes = 0
  let isPart = false
  for (const event of given) {
    const text = lineOf(event, format, refusals)
    if (text === undefined) continue
    const line = { text, bytes: Buffer.byteLength(text) }
    isPart = events.length > 0 && bytes + line.bytes + 1 > maxBytes
    if (isPart) break
    bytes += line.bytes + 1
    events.push(event)
    lines.push(line)
  }
  const body = () => compressors[form](joinTexts(lines, { before: '', between: '\n', after: '\n' }))
  return { events, refusals, bytes, isPart, body }
}
