import type { Event } from '../../domain/event/event.ts'

/** What the streams of a sink know of it together, in this process. */
export interface Tally {
  /** The delivery of one stream. `hasTaken` returns whether the sink ever accepted an event; called at most once. */
  deliveryOf(stream: string, hasTaken: () => Promise<boolean>): DeliveryTally
}

export interface DeliveryTally {
  /** Whether the sink has ever accepted an event, by this process or by the store. */
  hasTaken(): Promise<boolean>
  /** How often in a row a batch of the stream was refused as a whole. */
  readonly timesRefused: number
  tookOne(): void
  /** Counts an event refused alone. Returns true when the sink has refused enough in a row, of any streams. */
  refusedOne(event: Event): boolean
  /**
   * Counts a batch of which no event was accepted. Returns true when the events must be the cause: they were refused
   * several times, and the sink accepted events of others between each two of these times.
   */
  refusedWhole(): boolean
}

/** This many refusals in a row, of a batch or of the sink, put the sink in doubt. */
export const doubtAfter = 8
/** A batch is tried so often, with events of others accepted in between, before its events count as the cause. */
const triesOfWhole = 3
/** Streams that are remembered: each was refused as a whole and never read further. */
const mostStreams = 10_000

/** A stream whose batch was refused as a whole. */
interface Refused {
  readonly times: number
  /** The tries between which the sink accepted events of others. */
  readonly tries: number
  /** How many events the sink had accepted then. */
  readonly taken: number
}

export function createTally(): Tally {
  let taken = 0
  /** By id: repeated refusals of the same event count once. */
  const inARow = new Set<string>()
  const whole = new Map<string, Refused>()

  function refusedWhole(stream: string): boolean {
    const { times, tries, taken: then } = whole.get(stream) ?? { times: 0, tries: 0, taken: -1 }
    const now = { times: times + 1, tries: taken > then ? tries + 1 : tries, taken }
    whole.delete(stream)
    if (now.tries > triesOfWhole) return true
    whole.set(stream, now)
    if (whole.size > mostStreams) whole.delete(whole.keys().next().value!)
    return false
  }

  return {
    deliveryOf(stream, hasTaken) {
      let known: Promise<boolean> | undefined
      return {
        hasTaken: async () => taken > 0 || (await (known ??= hasTaken())),
        get timesRefused() {
          return whole.get(stream)?.times ?? 0
        },
        tookOne() {
          taken++
          inARow.clear()
          whole.delete(stream)
        },
        refusedOne({ zone, id, time = '' }) {
          if (inARow.size < doubtAfter) inARow.add(`${zone.id}/${id}/${time}`)
          return inARow.size >= doubtAfter
        },
        refusedWhole: () => refusedWhole(stream),
      }
    },
  }
}
