import { setImmediate } from 'node:timers/promises'
import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Cell, Format } from '../../ports/delivery.ts'
import { compressors, joinTexts, lineOf, rowOf, type Text } from '../lines.ts'
import type { Row } from './parquet.ts'
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

interface Content<Piece extends { readonly bytes: number }> {
  /** Undefined, and a refusal more, for an event that has no form in the format. */
  piece(event: Event, refusals: Refusal[]): Piece | undefined
  /** Returns a promise where that takes time. */
  add(piece: Piece): Promise<void> | undefined
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

async function draftWith<Piece extends { readonly bytes: number }>(
  given: readonly Event[],
  { piece, add, body }: Content<Piece>,
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
    const own = piece(event, refusals)
    if (own === undefined) continue
    // With a line break, which a row has not.
    const size = own.bytes + 1
    isPart = events.length > 0 && bytes + size > maxBytes
    if (isPart) break
    bytes += size
    events.push(event)
    const adding = add(own)
    if (adding !== undefined) await adding
  }
  return { events, refusals, bytes, isPart, body }
}

function inLines(form: 'gzip' | 'zstd', format: Format): Content<Text> {
  const lines: Text[] = []
  return {
    piece(event, refusals) {
      const text = lineOf(event, format, refusals)
      return text === undefined ? undefined : { text, bytes: Buffer.byteLength(text) }
    },
    add: (line) => void lines.push(line),
    body: () => compressors[form](joinTexts(lines, { before: '', between: '\n', after: '\n' })),
  }
}

async function inColumns(format: Format, signal: AbortSignal): Promise<Content<Row>> {
  // A megabyte of code that other forms need not load.
  const { createParquet } = await import('./parquet.ts')
  const { add, end } = createParquet(format.table!, signal)
  return {
    piece(event, refusals) {
      const cells = rowOf(event, format, refusals)
      return cells && { cells, bytes: cells.reduce((sum: number, cell) => sum + sizeOf(cell), 0) }
    },
    add,
    body: end,
  }
}

function sizeOf(cell: Cell): number {
  if (cell === null) return 0
  // To count bytes takes a twentieth of the time.
  if (typeof cell === 'string') return cell.length
  if (typeof cell !== 'object') return 8
  return Object.values(cell).reduce((sum: number, each) => sum + sizeOf(each), 0)
}
