import type { CommittedPart } from '../domain/event/delivery.ts'
import { mergeCommitted } from '../domain/event/delivery.ts'
import type { Identity } from '../domain/event/event.ts'
import { fingerprintOf } from '../domain/event/fingerprint.ts'
import { countRepair, settleDeadLetters } from '../domain/scan/progress.ts'
import type { LastCopies } from '../ports/delivery.ts'
import type { SeenWindow, Sighting } from './seen-window.ts'
import type { Session } from './session.ts'

/**
 * Handles uncommitted lines of a day that can no longer be read. `keep` marks their events as seen. A line of a dead
 * letter was written by a killed replay: `keep` removes the dead letter, or the next replay would write the line again.
 */
export function createLastCopies(session: Session, seen: SeenWindow): LastCopies {
  let loaded: Promise<Map<bigint, Identity>> | undefined
  const deadLettersOf = () => (loaded ??= loadDeadLetters(session))
  let checked: Promise<boolean> | undefined
  const isAllShipped = () => (checked ??= isShippedWhole(session))

  return {
    async unshippedOf(identities) {
      const deadLetters = await deadLettersOf()
      const isDeadLetter = ({ fingerprint }: Sighting) => deadLetters.has(fingerprint)
      const events = identities.map((identity) => ({ ...seenAs(identity), identity }))
      const others = (await isAllShipped()) ? [] : events.filter((event) => !isDeadLetter(event))
      const unseen = new Set(await seen.unseenOf(others))
      return events
        .filter((event) => isDeadLetter(event) || unseen.has(event))
        .map(({ identity }) => identity)
    },
    async keep(identities, part) {
      const deadLetters = await deadLettersOf()
      const keys = [...new Set(identities.map(fingerprintOf))].filter((key) => deadLetters.has(key))
      const others = identities.filter((identity) => !deadLetters.has(fingerprintOf(identity)))
      const unseen = await seen.unseenOf(others.map(seenAs))
      const removedDeadLetters = keys.map((key) => deadLetters.get(key)!)
      const next = settleDeadLetters(grown(session, part), { delivered: keys.length })
      await session.commit(next, { seen: seen.pack(unseen), removedDeadLetters })
      seen.add(unseen)
      for (const key of keys) deadLetters.delete(key)
    },
  }
}

/**
 * True for a complete day whose deduplication index was dropped: its last full scan shipped all that the API listed, and
 * thus the events of any line that is left, for example on the disk of a host that was off for days.
 */
async function isShippedWhole({ checkpoint, deps, job }: Session): Promise<boolean> {
  return checkpoint().ended?.as === 'complete' && (await deps.store.ledger.isIndexDropped(job.stream))
}

async function loadDeadLetters({ deps, job }: Session): Promise<Map<bigint, Identity>> {
  const keys = await deps.store.deadLetters.keys(job.stream)
  return new Map(keys.map((key) => [fingerprintOf(key), key]))
}

function grown(session: Session, part: CommittedPart) {
  const before = countRepair(session.checkpoint())
  return { ...before, committed: mergeCommitted(before.committed, [part]) }
}

/** An event in the deduplication index, of which only the identity is known. */
export function seenAs(identity: Identity): Sighting {
  const fingerprint = fingerprintOf(identity)
  const timeMs = identity.time === undefined ? NaN : Date.parse(identity.time)
  return Number.isNaN(timeMs) ? { fingerprint } : { fingerprint, timeMs }
}
