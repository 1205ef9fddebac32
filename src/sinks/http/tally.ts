import type { Refusal } from '../../domain/event/delivery.ts'

/** What a sink has shown of itself so far. */
export interface Tally {
  /** True once any event was taken. From then on a refused event is the cause, not the sink. */
  readonly everTaken: boolean
  tookOne(): void
  /** Counts an event that was refused alone. True when so many in a row were that the sink itself is in doubt. */
  refusedOne(refusal: Refusal): Promise<boolean>
}

/** So many events refused in a row, none ever taken, are an error of the sink. */
const doubtAfter = 8

/** What all streams of a sink have seen of it in the life of this process. */
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
      if (refused.size < doubtAfter) refused.add(`${event.zone.id}/${event.id}/${event.time ?? ''}`)
      return Promise.resolve(!everTaken && refused.size >= doubtAfter)
    },
  }
}

/** The same for one delivery: `hasTaken` knows what was before this process, and is asked once, if at all. */
export function createDeliveryTally(tally: Tally, hasTaken: () => Promise<boolean>): Tally {
  let known: Promise<boolean> | undefined
  let tookBefore = false
  return {
    get everTaken() {
      return tookBefore || tally.everTaken
    },
    tookOne: () => tally.tookOne(),
    async refusedOne(refusal) {
      if (!tally.everTaken) tookBefore = await (known ??= hasTaken())
      return !tookBefore && (await tally.refusedOne(refusal))
    },
  }
}
