import type { Refusal } from '../../domain/event/delivery.ts'

/** What is known about a sink so far. */
export interface Tally {
  /** True once any event was accepted. From then on a refusal is caused by the event, not by the sink. */
  readonly everTaken: boolean
  tookOne(): void
  /** Counts an event refused alone. Returns true when enough in a row were refused to doubt the sink. */
  refusedOne(refusal: Refusal): Promise<boolean>
}

/** This many refusals in a row, with no event ever accepted, count as an error of the sink. */
const doubtAfter = 8

/** The tally over all streams of a sink in this process. */
export function createTally(): Tally {
  let everTaken = false
  /** By id: repeated refusals of the same event count once. */
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

/** The tally of one delivery. `hasTaken` returns whether the sink ever accepted an event; called at most once. */
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
