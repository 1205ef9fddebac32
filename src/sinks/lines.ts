import type { Refusal } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { messageOf } from '../domain/failure.ts'
import type { Format } from '../ports/delivery.ts'

/** An event with its line, or the refusal of an event that the format cannot represent. */
type Mapped = { readonly event: Event; readonly line: string } | { readonly refusal: Refusal }

export function mapEvent(event: Event, format: Format): Mapped {
  try {
    const line = format.encode(event)
    // Readers would read two invalid lines.
    if (line.includes('\n')) throw new Error('the line contains a line break')
    return { event, line }
  } catch (error) {
    const answer = `cannot be written in format ${format.name}: ${messageOf(error)}`.slice(0, 1024)
    return { refusal: { event, reason: 'unmappable', answer } }
  }
}

export interface Text {
  readonly text: string
  /** Size of `text` in UTF-8 bytes. */
  readonly bytes: number
}

interface Framing {
  readonly before: string
  readonly between: string
  readonly after: string
}

/**
 * Joins texts as bytes, each written straight into the buffer: joining strings first would build a string of the whole
 * body and take half as long again.
 */
export function joinTexts(texts: readonly Text[], { before, between, after }: Framing): Buffer {
  let bytes = Buffer.byteLength(before) + Buffer.byteLength(after)
  bytes += Buffer.byteLength(between) * Math.max(0, texts.length - 1)
  for (const text of texts) bytes += text.bytes
  const joined = Buffer.allocUnsafe(bytes)
  let at = joined.write(before)
  for (const [index, { text, bytes }] of texts.entries()) {
    if (index > 0) at += joined.write(between, at)
    // As many bytes as characters means pure ASCII; latin1 writes that faster.
    at += joined.write(text, at, bytes === text.length ? 'latin1' : 'utf8')
  }
  at += joined.write(after, at)
  if (at !== bytes) throw new Error('a text is not as long as it says')
  return joined
}
