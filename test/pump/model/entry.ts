import type { Day } from '../../../src/domain/day.ts'
import type { Event, Identity } from '../../../src/domain/event/event.ts'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'

/** One entry of the model's API. */
export interface Entry {
  /** Its own name in the listing; an odd entry has an id that another one has too. */
  readonly key: string
  readonly id: string
  readonly day: Day
  readonly timeMs: number | undefined
  /** Where a listing by time has it. */
  readonly sortMs: number
  readonly arrivesAtMs: number
  /** Place in an unordered listing. */
  readonly shuffle: number
}

export function identityOf({ id, timeMs }: Pick<Entry, 'id' | 'timeMs'>): Identity {
  return timeMs === undefined ? { id } : { id, time: new Date(timeMs).toISOString() }
}

/** One line of a file or a body: what makes the event the same event. */
export function lineOf({ id, time }: Identity): string {
  return time === undefined ? id : `${id}@${time}`
}

export function identityIn(line: string): Identity {
  const [id = '', time] = line.split('@')
  return time === undefined ? { id } : { id, time }
}

export function eventOf(entry: Entry, zone: number): Event {
  const identity = identityOf(entry)
  return {
    ...identity,
    ...(entry.timeMs !== undefined && { timeMs: entry.timeMs }),
    fingerprint: fingerprintOf(identity),
    zone: { id: zone, name: String(zone) },
    labels: {},
    log: {},
    raw: () => ({}),
  }
}
