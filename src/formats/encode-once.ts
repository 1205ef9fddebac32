import type { Event } from '../domain/event/event.ts'
import type { Format } from '../ports/delivery.ts'

/**
 * A format for so many sinks, which get the same events of shared pages: the first makes the line of an event. It is kept
 * until the last has taken it, and no longer than the event.
 */
export function encodeOnce(format: Format, sinks: number): Format {
  if (sinks < 2) return format
  const kept = new WeakMap<Event, { readonly line: string; left: number }>()
  return {
    ...format,
    encode(event) {
      const known = kept.get(event)
      if (known === undefined) {
        const line = format.encode(event)
        kept.set(event, { line, left: sinks - 1 })
        return line
      }
      if (--known.left === 0) kept.delete(event)
      return known.line
    },
  }
}
