import type { CommittedPart } from '../domain/delivery.ts'
import type { Identity } from '../domain/event.ts'
import { fingerprintOf } from '../domain/fingerprint.ts'
import { countMend, settleLetters } from '../domain/progress.ts'
import { mergeCommitted } from '../domain/committed-parts.ts'
import type { LastCopies } from '../ports/sink.ts'
import type { SeenWindow, Sighting } from './seen-window.ts'
import type { Session } from './session.ts'

/**
 * What a pump does with lines of a day that can no longer be read and that were never committed. Those that it adopts
 * become seen. A line of a dead letter is what a killed replay wrote: its letter goes, or the next replay would write
 * it again.
 */
export function createLastCopies(session: Session, seen: SeenWindow): LastCopies {
  let loaded: Promise<Map<bigint, Identity>> | undefined
  const lettersOf = () => (loaded ??= loadLetters(session))

  return {
    async areShipped(identities) {
      const letters = await lettersOf()
      if (identities.some((identity) => letters.has(fingerprintOf(identity)))) return false
      return (await seen.unseenOf(identities.map(seenAs))).length === 0
    },
    async adopt(identities, part) {
      const letters = await lettersOf()
      const keys = [...new Set(identities.map(fingerprintOf))].filter((key) => letters.has(key))
      const others = identities.filter((identity) => !letters.has(fingerprintOf(identity)))
      const unseen = await seen.unseenOf(others.map(seenAs))
      const removedLetters = keys.map((key) => letters.get(key)!)
      const next = settleLetters(grown(session, part), { delivered: keys.length })
      await session.commit(next, { seen: seen.pack(unseen), removedLetters })
      seen.add(unseen)
      for (const key of keys) letters.delete(key)
    },
  }
}

async function loadLetters({ deps, job }: Session): Promise<Map<bigint, Identity>> {
  const keys = await deps.store.deadLetters.keys(job.stream)
  return new Map(keys.map((key) => [fingerprintOf(key), key]))
}

function grown(session: Session, part: CommittedPart) {
  const before = countMend(session.checkpoint())
  return { ...before, committed: mergeCommitted(before.committed, [part]) }
}

/** How seen knows an event of which only the identity is left. */
export function seenAs(identity: Identity): Sighting {
  const fingerprint = fingerprintOf(identity)
  const timeMs = identity.time === undefined ? NaN : Date.parse(identity.time)
  return Number.isNaN(timeMs) ? { fingerprint } : { fingerprint, timeMs }
}
