import type { Event } from '../../domain/event/event.ts'
import { untimedMinute } from '../../domain/event/seen.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Store } from '../../ports/store.ts'
import { minuteText, type EventReport, type MinuteReport } from '../../domain/audit-report.ts'
import type { MinuteDifference, OtherFingerprints } from './compare-ledger.ts'
import { createSeenWindow } from '../../pump/seen-window.ts'

export interface MissingReport {
  readonly due: number
  readonly notYetDue: number
  /** Time of the oldest due event; Infinity where there is none, -Infinity where one has no time. */
  readonly oldestMs: number
  readonly minutes: MinuteReport[]
  readonly events: EventReport[]
}

/** Keeps ids of events that the ledger did not have when they were read, so that a report can name them. */
export interface MissingEvents {
  note(events: readonly Event[]): Promise<void>
  /** Of the noted events. */
  readonly others: OtherFingerprints
  /** `dueUntilMs`: newer events need not be in the ledger yet. */
  reportOf(differences: readonly MinuteDifference[], dueUntilMs: number): MissingReport
}

/** Beyond this number events are counted and not named. */
const mostNoted = 100_000
const mostNamed = 1_000

export function createMissingEvents(store: Store, stream: Stream): MissingEvents {
  const seen = createSeenWindow(store.ledger, stream)
  const noted = new Map<bigint, EventReport & { readonly timeMs: number | undefined }>()
  const othersOf = new Map<bigint, bigint[]>()
  const others = new Set<bigint>()

  function noteOther(event: Event): void {
    const other = event.otherFingerprint?.()
    if (other === undefined || others.has(other)) return
    others.add(other)
    othersOf.set(event.fingerprint, [...(othersOf.get(event.fingerprint) ?? []), other])
  }

  function timeOf(fingerprint: bigint, minute: number): number | undefined {
    const event = noted.get(fingerprint)
    if (event !== undefined) return event.timeMs
    return minute === untimedMinute ? undefined : minute * 60_000
  }

  return {
    async note(events) {
      if (noted.size >= mostNoted) return
      const sightings = events.map(({ fingerprint, timeMs }) => ({
        fingerprint,
        ...(timeMs !== undefined && { timeMs }),
      }))
      const unseen = new Set((await seen.unseenOf(sightings)).map(({ fingerprint }) => fingerprint))
      for (const event of events) {
        const { fingerprint, id, time, timeMs } = event
        if (!unseen.has(fingerprint)) continue
        noted.set(fingerprint, { id, ...(time !== undefined && { time }), timeMs })
        noteOther(event)
      }
    },
    others: {
      of: (fingerprint) => othersOf.get(fingerprint) ?? [],
      has: (fingerprint) => others.has(fingerprint),
    },
    reportOf(differences, dueUntilMs) {
      const minutes: MinuteReport[] = []
      const events: EventReport[] = []
      let [due, notYetDue, oldestMs] = [0, 0, Infinity]
      for (const { minute, missing, missingFingerprints = [], ...counts } of differences) {
        const isDue = (each: bigint) => (timeOf(each, minute) ?? -Infinity) <= dueUntilMs
        const dueOnes = missingFingerprints.filter(isDue)
        const early = missingFingerprints.length - dueOnes.length
        for (const fingerprint of dueOnes) {
          oldestMs = Math.min(oldestMs, timeOf(fingerprint, minute) ?? -Infinity)
          const event = noted.get(fingerprint)
          if (event !== undefined && events.length < mostNamed) events.push(nameOf(event))
        }
        // Where only counts remain, the missing events are unknown.
        if (missing > missingFingerprints.length) oldestMs = -Infinity
        due += missing - early
        notYetDue += early
        const { listed, ledger, extra } = counts
        minutes.push({
          minute: minuteText(minute),
          listed,
          ledger,
          missing: missing - early,
          extra,
          notYetDue: early,
        })
      }
      return { due, notYetDue, oldestMs, minutes, events }
    },
  }
}

function nameOf({ id, time }: EventReport): EventReport {
  return time === undefined ? { id } : { id, time }
}
