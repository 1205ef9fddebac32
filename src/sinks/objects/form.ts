import { setImmediate } from 'node:timers/promises'
import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Cell, Format } from '../../ports/delivery.ts'
import { compressors, joinTexts, lineOf, rowOf, type Text } from '../lines.ts'
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
  /** Of their lines; in columns, of the texts in them. */
  readonly bytes: number
  /** More events were given than one object may hold. */
  readonly isPart: boolean
  body(signal: AbortSignal): Promise<Buffer>
}

interface Content<Piece> {
  /** Undefined, and a refusal more, for an event that has no form in the format. */
  piece(event: Event, refusals: Refusal[]): Piece | undefined
  sizeOf(piece: Piece): number
  body(pieces: readonly Piece[], signal: AbortSignal): Promise<Buffer>
}

/** As many of the events as one object may hold, but at least one. */
export function draftOf(
  given: readonly Event[],
  form: Form,
  format: Format,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Draft> {
  if (form === 'parquet') return draftWith(given, inColumns(format), maxBytes, signal)
  return draftWith(given, inLines(form, format), maxBytes, signal)
}

/** After so many events other work gets its turn. */
const eventsInTurn = 500

async function draftWith<Piece>(
  given: readonly Event[],
  { piece, sizeOf, body }: Content<Piece>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Draft> {
  const [events, refusals, pieces]: [Event[], Refusal[], Piece[]] = [[], [], []]
  let bytes = 0
  let isPart = false
  for (const [index, event] of given.entries()) {
    if (index % eventsInTurn === eventsInTurn - 1) {
      await setImmediate()
      if (signal.aborted) throw cancelled(signal.reason)
    }
    const own = piece(event, refusals)
    if (own === undefined) continue
    const size = sizeOf(own)
    isPart = events.length > 0 && bytes + size > maxBytes
    if (isPart) break
    bytes += size
    events.push(event)
    pieces.push(own)
  }
  return { events, refusals, bytes, isPart, body: (signal) => body(pieces, signal) }
}

function inLines(form: 'gzip' | 'zstd', format: Format): Content<Text> {
  return {
    piece(event, refusals) {
      const text = lineOf(event, format, refusals)
      return text === undefined ? undefined : { text, bytes: Buffer.byteLength(text) }
    },
    sizeOf: ({ bytes }) => bytes + 1,
    body: (lines) => compressors[form](joinTexts(lines, { before: '', between: '\n', after: '\n' })),
  }
}

function inColumns(format: Format): Content<readonly Cell[]> {
  return {
    piece: (event, refusals) => rowOf(event, format, refusals),
    sizeOf: (row) => row.reduce((sum: number, cell) => sum + sizeOf(cell), 0),
    async body(rows, signal) {
      // A megabyte of code that other forms need not load.
      const { writeParquet } = await import('./parquet.ts')
      return await writeParquet(format.table!, rows, signal)
    },
  }
}

function sizeOf(cell: Cell): number {
  if (cell === null) return 0
  if (typeof cell === 'string') return Buffer.byteLength(cell)
  if (typeof cell !== 'object') return 8
  return Object.values(cell).reduce((sum: number, each) => sum + sizeOf(each), 0)
}
