import type { Day } from '../../../src/domain/day.ts'
import type { Event, Identity } from '../../../src/domain/event/event.ts'
import type { JsonObject } from '../../../src/domain/text/json.ts'
import { withOwnId, type EntryIdentity } from '../../../src/shield/entries/identities.ts'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'

/** Names of the sinks. */
export const filesName = 'files'
export const receiverNames = ['siem', 'second']
export const lakeName = 'lake'

/** One entry of the model's API. */
export interface Entry {
  /** Its own name in the listing; an odd entry has an id that another one has too. */
  readonly key: string
  readonly id: string
  readonly day: Day
  readonly timeMs: number | undefined
  /** Tells it from another entry with the same id and time. */
  readonly content?: string
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

/** The entry as an answer has it. */
export function jsonOf({ id, timeMs, content }: Entry): JsonObject {
  return {
    logId: id,
    ...(timeMs !== undefined && { timestamp: timeMs }),
    ...(content !== undefined && { content }),
  }
}

/** The event that a line of an archive is. */
export function archivedEvent(line: string, zone: number): Event {
  const identity = identityIn(line)
  return {
    ...identity,
    ...(identity.time !== undefined && { timeMs: Date.parse(identity.time) }),
    fingerprint: fingerprintOf(identity),
    zone: { id: zone, name: String(zone) },
    labels: {},
    log: {},
    raw: () => ({}),
  }
}

/** The line of an entry that another one shares id and time with, once it has an id of its own. */
export function ownLineOf(entry: Entry): string {
  const { id, time } = withOwnId(jsonOf(entry), { ...identityOf(entry), fingerprint: 0n })
  return lineOf(time === undefined ? { id } : { id, time })
}

/** `page` is the identity that the page gives it. */
export function eventOf(entry: Entry, zone: number, page?: EntryIdentity): Event {
  const identity = page === undefined ? identityOf(entry) : { ...identityOf(entry), id: page.id }
  return {
    ...identity,
    ...(entry.timeMs !== undefined && { timeMs: entry.timeMs }),
    fingerprint: fingerprintOf(identity),
    hasOwnId: page?.sharedFingerprint !== undefined,
    otherFingerprint: () => page?.sharedFingerprint ?? fingerprintOf(identityIn(ownLineOf(entry))),
    zone: { id: zone, name: String(zone) },
    labels: {},
    log: {},
    raw: () => ({}),
  }
}
