import { setImmediate } from 'node:timers/promises'
import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Format } from '../../ports/delivery.ts'
import { compressors, encodedAs, joinTexts, lineOf, type Text } from '../lines.ts'
import type { ObjectSettings } from './settings.ts'

/** What an object is written as, and how the names of such objects end. */
export const suffixes = { gzip: 'ndjson.gz', zstd: 'ndjson.zst', parquet: 'parquet' }
export type Form = keyof typeof suffixes

export const contentTypes: Readonly<Record<Form, string>> = {
  gzip: 'application/x-ndjson',
  zstd: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
}

/** As the settings say. */
export function formOf({ file, compress }: Pick<ObjectSettings, 'file' | 'compress'>): Form {
  return file === 'parquet' ? file : (compress ?? 'gzip')
}

export function isForm(text: string): text is Form {
  return Object.hasOwn(suffixes, text)
}

/** The events that one object holds, and those that none can hold. */
export interface Draft {
  readonly events: readonly Event[]
  readonly refusals: readonly Refusal[]
  /** Of their lines; in columns, of the texts in them, about. */
  readonly bytes: number
  /** More events were given than one object may hold. */
  readonly isPart: boolean
  /** To be called once. */
  body(): Promise<Buffer>
}

interface Content {
  /** Bytes that an event takes; undefined, and a refusal more, where it has no form in the format. */
  offer(event: Event, refusals: Refusal[]): number | undefined
  /** Takes in what was offered last. Returns a promise where that takes time. */
  keep(): Promise<void> | undefined
  body(): Promise<Buffer>
}

/** As many of the events as one object may hold, but at least one. */
export async function draftOf(
  given: readonly Event[],
  form: Form,
  format: Format,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Draft> {
  if (form !== 'parquet') return await draftWith(given, inLines(form, format), maxBytes, signal)
  return await draftWith(given, await inColumns(format, signal), maxBytes, signal)
}

/** After so many events other work gets its turn. */
const eventsInTurn = 500

async function draftWith(
  given: readonly Event[],
  { offer, keep, body }: Content,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Draft> {
  const [events, refusals]: [Event[], Refusal[]] = [[], []]
  let bytes = 0
  let isPart = false
  for (const [index, event] of given.entries()) {
    if (index % eventsInTurn === eventsInTurn - 1) {
      await setImmediate()
      if (signal.aborted) throw cancelled(signal.reason)
    }
    const own = offer(event, refusals)
    if (own === undefined) continue
    // With a line break, which a row has not.
    const size = own + 1
    isPart = events.length > 0 && bytes + size > maxBytes
    if (isPart) break
    bytes += size
    events.push(event)
    const keeping = keep()
    if (keeping !== undefined) await keeping
  }
  return { events, refusals, bytes, isPart, body }
}

function inLines(form: 'gzip' | 'zstd', format: Format): Content {
  const lines: Text[] = []
  let offered: Text
  return {
    offer(event, refusals) {
      const text = lineOf(event, format, refusals)
      if (text === undefined) return undefined
      offered = { text, bytes: Buffer.byteLength(text) }
      return offered.bytes
    },
    keep: () => void lines.push(offered),
    body: () => compressors[form](joinTexts(lines, { before: '', between: '\n', after: '\n' })),
  }
}

async function inColumns(format: Format, signal: AbortSignal): Promise<Content> {
  // A megabyte of code that other forms need not load.
  const { createParquet } = await import('./parquet.ts')
  // The registry of formats gives a table to each.
  const { offer, keep, end } = createParquet(format.table!, signal)
  return {
    offer: (event, refusals) => encodedAs(event, format, refusals, () => offer(event)),
    keep,
    body: end,
  }
}
