import type { Event } from '../domain/event/event.ts'
import { FingerprintSet, minuteOf, packFingerprints } from '../domain/event/seen.ts'
import type { Stream } from '../domain/stream.ts'
import type { Ledger } from '../ports/ledger.ts'

/** How much a pump keeps in memory; beyond that it drops all minutes and loads them again when needed. */
const maxFingerprints = 100_000
const maxMinutes = 5_000

/** What the deduplication index needs of an event. */
export type Sighting = Pick<Event, 'fingerprint' | 'timeMs'>

/**
 * The part of a stream's seen that one pump needs: the minutes of its pages. It ends with its pump, so that it never
 * outlives a lost commit.
 */
export interface SeenWindow {
  /** The events of a page that the stream has not delivered, each once. */
  unseenOf<Each extends Sighting>(events: readonly Each[]): Promise<Each[]>
  /** What a commit adds for these events, packed by minute. */
  pack(events: readonly Sighting[]): Map<number, Uint8Array>
  /** Call it after the commit that added them. */
  add(events: readonly Sighting[]): void
}

export function createSeenWindow(ledger: Pick<Ledger, 'loadSeen'>, stream: Stream): SeenWindow {
  const minutes = new Map<number, FingerprintSet>()

  async function load(events: readonly Sighting[]): Promise<void> {
    let held = 0
    for (const set of minutes.values()) held += set.size
    if (held > maxFingerprints || minutes.size > maxMinutes) minutes.clear()
    const wanted = new Set(events.map((event) => minuteOf(event.timeMs)))
    const missing = [...wanted].filter((minute) => !minutes.has(minute))
    if (missing.length === 0) return
    const loaded = await ledger.loadSeen(stream, missing)
    for (const minute of missing) {
      const set = new FingerprintSet()
      const packed = loaded.get(minute)
      if (packed !== undefined) set.addPacked(packed)
      minutes.set(minute, set)
    }
  }

  return {
    async unseenOf(events) {
      await load(events)
      const inPage = new FingerprintSet()
      return events.filter(
        (event) =>
          !minutes.get(minuteOf(event.timeMs))!.has(event.fingerprint) && inPage.add(event.fingerprint),
      )
    },
    pack: packSightings,
    add(events) {
      for (const event of events) minutes.get(minuteOf(event.timeMs))?.add(event.fingerprint)
    },
  }
}

/** Fingerprints by minute, as a commit takes them. */
function packSightings(events: readonly Sighting[]): Map<number, Uint8Array> {
  const groups = Map.groupBy(events, (event) => minuteOf(event.timeMs))
  return new Map(
    [...groups].map(([minute, group]) => [minute, packFingerprints(group.map((event) => event.fingerprint))]),
  )
}
