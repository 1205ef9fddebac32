import type { Checkpoint } from './checkpoint.ts'
import type { Receipt } from './delivery.ts'
import type { Wish } from './due.ts'
import { mergeReceipts } from './receipts.ts'
import type { Sweep } from './sweep.ts'

/**
 * A day that a person wants shipped once more (`backfill --again`).
 * - `reading`: full sweeps that began for the wish ship what was not shipped again yet.
 * - `read`: such a sweep was complete; it is to be judged whether everything is there again.
 * - `moving`: it is, and that was decided for good: the new parts take the place of the old ones. Whoever opens the
 *   stream next goes on with that, wherever it stopped.
 *
 * Whatever the stream delivers meanwhile, in any lane, counts as shipped again too.
 */
export interface Again {
  readonly wish: string
  readonly phase: 'reading' | 'read' | 'moving'
  /** Shipped once more until now. */
  readonly events: number
  /** Dead letters that a person dropped although their turn to be shipped once more had passed. */
  readonly dropped?: number
  /** Names of the parts that give way: all that the stream had. Empty where the sink keeps no receipts. */
  readonly replaces: readonly string[]
  /** Parts that are to take their place; no reader sees them until then. */
  readonly staged: readonly Receipt[]
}

/** What of a stream is asked for: all that was delivered (the default), or what was shipped again. */
export type Shipped = 'delivered' | 'again'

/** What became of the latest one. */
export interface AgainRecord {
  readonly wish: string
  readonly events: number
  /** Why the parts of before were kept; absent where all went well. */
  readonly kept?: string
}

/** Where the parts of a stream belong. */
export interface Placement {
  /** Those that readers see. */
  readonly receipts: readonly Receipt[]
  /** Those that wait beside them; undefined where nothing is shipped again. */
  readonly staged?: readonly Receipt[]
  /** Of `receipts`, those that are to give way: they take no more deliveries. */
  readonly closed: readonly string[]
  /** Those that gave way. */
  readonly aside: readonly string[]
}

export function placementOf({ receipts, again, aside = [] }: Checkpoint): Placement {
  if (again === undefined) return { receipts, closed: [], aside }
  const { replaces, staged } = again
  if (again.phase !== 'moving') return { receipts, staged, closed: replaces, aside }
  const kept = receipts.filter(({ part }) => !replaces.includes(part))
  return {
    receipts: mergeReceipts(kept, staged),
    closed: [],
    aside: [...new Set([...aside, ...replaces])],
  }
}

/** Whether the pages of a sweep are shipped once more. */
export function shipsAgain({ again }: Checkpoint, sweep: Pick<Sweep, 'wish'>): boolean {
  return again?.phase === 'reading' && sweep.wish === again.wish
}

/** Whether a wish has its answer. */
export function isAnswered(checkpoint: Checkpoint | undefined, { id, again }: Wish): boolean {
  if (again === 'drop') return checkpoint?.again?.wish !== id
  if (again === 'ship') return checkpoint?.lastAgain?.wish === id
  return checkpoint?.lastFull?.wish === id && !checkpoint.needsFull
}

/** From the first page: what a sweep for the same wish has read before this was shipped again and let go. */
export function beginAgain(checkpoint: Checkpoint, wish: string): Checkpoint {
  const { full, ...rest } = checkpoint
  const replaces = checkpoint.receipts.map(({ part }) => part)
  return {
    ...(full?.wish === wish ? rest : checkpoint),
    again: { wish, phase: 'reading', events: 0, replaces, staged: [] },
  }
}

/** After a page of such a sweep, or of any other. */
export function afterAgainPage(
  checkpoint: Checkpoint,
  shipped: { readonly events: number; readonly receipts: readonly Receipt[] },
): Checkpoint {
  const { again } = checkpoint
  if (again === undefined) return checkpoint
  const staged = mergeReceipts(again.staged, shipped.receipts)
  return { ...checkpoint, again: { ...again, events: again.events + shipped.events, staged } }
}

/** Dead letters were dropped that will not be shipped with the rest any more. */
export function afterAgainDropped(checkpoint: Checkpoint, letters: number): Checkpoint {
  const { again } = checkpoint
  if (again === undefined || letters === 0) return checkpoint
  return { ...checkpoint, again: { ...again, dropped: (again.dropped ?? 0) + letters } }
}

export function inPhase(checkpoint: Checkpoint, phase: Again['phase']): Checkpoint {
  return checkpoint.again === undefined
    ? checkpoint
    : { ...checkpoint, again: { ...checkpoint.again, phase } }
}

/** Everything is shipped again, and where parts were to give way they have. */
export function endAgain(checkpoint: Checkpoint): Checkpoint {
  const { again, ...rest } = checkpoint
  if (again === undefined) return checkpoint
  const { receipts, aside } = placementOf(checkpoint)
  const lastAgain = { wish: again.wish, events: again.events }
  // What a person had dropped was shipped with the rest, unless it was dropped since.
  const { dropped = 0, ...counters } = rest.counters
  const still = Math.min(dropped, again.dropped ?? 0)
  const counted = {
    ...counters,
    delivered: counters.delivered + dropped - still,
    ...(still > 0 && { dropped: still }),
  }
  return { ...rest, receipts, lastAgain, counters: counted, ...(aside.length > 0 && { aside }) }
}

/** Lets go of what was shipped again; with `kept` that is the answer to the wish. */
export function dropAgain(checkpoint: Checkpoint, kept?: string): Checkpoint {
  const { again, ...rest } = checkpoint
  if (again === undefined || kept === undefined) return rest
  return { ...rest, lastAgain: { wish: again.wish, events: again.events, kept } }
}
