import type { Event } from '../../../domain/event/event.ts'

/** Nanoseconds since the epoch, as text, since a number could not hold them; undefined for an event without a time. */
export function unixNano({ time, timeMs }: Event): string | undefined {
  if (time === undefined || timeMs === undefined) return undefined
  const fraction = /\.(\d+)Z$/.exec(time)?.[1] ?? ''
  return `${Math.floor(timeMs / 1000)}${fraction.padEnd(9, '0')}`
}
