import { messageOf } from '../domain/failure.ts'
import type { Refusal } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import type { Format } from '../ports/delivery.ts'

/** An event with its line, or the refusal of an event that the format cannot represent. */
export type Mapped = { readonly event: Event; readonly line: string } | { readonly refusal: Refusal }

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
