import type { Refusal } from '../../domain/delivery.ts'

/** What a sink has shown of itself so far, in the life of this process. */
export interface Tally {
  /** True once any event was taken. From then on a refused event is at fault, not the sink. */
  readonly everTaken: boolean
  tookOne(): void
  /** Counts an event that was refused alone. True when so many in a row were that the sink itself is in doubt. */
  refusedOne(refusal: Refusal): boolean
}

/** So many events refused in a row, none ever taken, are a fault of the sink. */
const doubtAfter = 8

export function createTally(): Tally {
  let everTaken = false
  /** By id: the same event refused on each new try says no more than once. */
  const refused = new Set<string>()
  return {
    get everTaken() {
      return everTaken
    },
    tookOne() {
      everTaken = true
      refused.clear()
    },
    refusedOne({ event }) {
      if (everTaken) return false
      if (refused.size < doubtAfter) refused.add(`${event.zone.id}/${event.id}/${event.time ?? ''}`)
      return refused.size >= doubtAfter
    },
  }
}

/** For events that were refused before: a refusal stands, and says nothing of the sink. What is taken still does. */
export function decided(tally: Tally): Tally {
  return { everTaken: true, tookOne: () => tally.tookOne(), refusedOne: () => false }
}
