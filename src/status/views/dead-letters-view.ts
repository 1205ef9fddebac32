import { parseDay } from '../../domain/day.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import type { DayQuery, DeadLettersView } from '../../domain/status/status-views.ts'
import type { DeadLetters } from '../../ports/store.ts'
import { iso } from '../../domain/text/time.ts'

const mostRead = 20
const longestEvent = 8_000

/** The event of a dead letter in native form, redacted; or why it cannot be read. */
export type ReadEvent = (deadLetter: DeadLetter) => { readonly event: unknown } | { readonly problem: string }

/** Undefined where there is no such day. */
export async function deadLettersView(
  { zone, sink, day: text }: DayQuery,
  deadLetters: Pick<DeadLetters, 'keys' | 'read'>,
  readEvent: ReadEvent,
): Promise<DeadLettersView | undefined> {
  const day = parseDay(text)
  if (day === undefined) return undefined
  const stream = { zone, sink, day }
  const keys = await deadLetters.keys(stream)
  const found = await deadLetters.read(stream, keys.slice(0, mostRead))
  return {
    count: keys.length,
    deadLetters: found.map((deadLetter) => {
      const { id, time, reason, answer, at } = deadLetter
      const read = readEvent(deadLetter)
      const event = 'event' in read ? JSON.stringify(read.event, undefined, 2) : read.problem
      return {
        id,
        ...(time !== undefined && { time }),
        reason,
        answer,
        at: iso(at),
        event: event.length > longestEvent ? `${event.slice(0, longestEvent)}…` : event,
      }
    }),
  }
}
