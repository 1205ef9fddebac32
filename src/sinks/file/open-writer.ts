import type { Adopted } from '../../domain/delivery.ts'
import type { OpenOptions } from '../../ports.ts'
import type { Place } from './part.ts'
import { recover } from './recover.ts'
import type { Writer } from './settings.ts'
import { createStreamWriter, type StreamWriter } from './stream-writer.ts'

/** What writes into the parts of one stream. */
export interface OpenWriter extends StreamWriter {
  readonly adopted?: Adopted
}

/** Brings the parts back to their receipts, and gives what writes on. */
export async function openWriter(
  writer: Writer,
  place: Place,
  taken: OpenOptions,
  signal: AbortSignal,
): Promise<OpenWriter> {
  const { start, adopted } = await recover(writer, place, taken, signal)
  const streamWriter = createStreamWriter(writer, place, start)
  return adopted === undefined ? streamWriter : { ...streamWriter, adopted }
}
