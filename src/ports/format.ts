import type { Event, Identity } from '../domain/event/event.ts'
import type { KeptEvent } from '../domain/event/kept-event.ts'

/** Event → one line of text, without a line break. Pure: the line depends on the event and the configuration only. */
export interface Format {
  readonly name: string
  /** MIME type of lines joined by line breaks. */
  readonly mediaType: string
  /** Throws for an event that has no form in this format; the event becomes a dead letter (`unmappable`). */
  encode(event: Event): string
  /** Reads a line that this format wrote back to the identity of its event; undefined for any other text. */
  identify(line: string): Identity | undefined
  /** Reads such a line back to what its event can be rebuilt from. Absent where lines do not hold enough for that. */
  readBack?(line: string): KeptEvent | undefined
}
