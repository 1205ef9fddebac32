import type { Delivery, CommittedPart } from '../domain/event/delivery.ts'
import type { Event, Identity } from '../domain/event/event.ts'
import type { Stream } from '../domain/stream.ts'

/** Where events go. A sink serves many streams at once, and one pump at most for each stream. */
export interface Sink {
  readonly name: string
  /** For people: where it ships to, without secrets. */
  readonly address: string
  /** Called by every pump right after it took the fence. Throws Failure. */
  open(stream: Stream, options: OpenOptions, signal: AbortSignal): Promise<OpenStream>
  /** Asks the destination whether it would take events, without leaving anything there. Throws Failure. */
  check(signal: AbortSignal): Promise<void>
  /** Ends writers and connections. Safe twice and before first use. */
  close(): Promise<void>
}

export interface OpenOptions {
  /**
   * Whether this sink has ever taken an event, as far as the store knows: then a refused event is the cause, not the
   * sink. Asked only where that matters. Without it: no.
   */
  hasTaken?(): Promise<boolean>
}

/**
 * A sink that can take back what was not committed: each delivery names the committed lengths of the parts that it
 * changed, the checkpoint keeps them, and every pump brings the sink back to them before it delivers.
 */
export interface TransactionalSink extends Omit<Sink, 'open'> {
  /**
   * Called by every pump right after it took the fence: brings what the sink holds of the stream back to its committed
   * lengths, so that nothing stays that was not committed, and opens the stream. Throws Failure.
   */
  reconcile(stream: Stream, known: Reconciliation, signal: AbortSignal): Promise<OpenStream>
  /** Whether something of a stream is there beyond its committed lengths. Changes nothing. */
  hasUncommitted(stream: Stream, known: CommittedLengths): Promise<boolean>
}

export type AnySink = Sink | TransactionalSink

/** What a store holds of a stream's parts. */
export interface CommittedLengths {
  readonly storeId: string
  readonly committed: readonly CommittedPart[]
}

/** What a stream is brought back to: the committed lengths that were read in the step that took the fence. */
export interface Reconciliation extends CommittedLengths {
  /**
   * Rejects with `fence_lost` when another pump took the stream over. To be asked after another writer's part was
   * locked and before it is cut: this pump may have slept since it read the committed lengths, and that part may have
   * grown under another pump meanwhile.
   */
  confirm(): Promise<void>
  /** Present where the day can no longer be read: a line that was never committed may be the last copy of its event. */
  readonly lastCopies?: LastCopies
}

/**
 * What becomes of whole lines that were never committed on a day that can no longer be read. A part whose lines all are
 * shipped is cut as on any other day; of every other part all whole lines are kept. Both are asked a bounded batch
 * of lines at a time.
 */
export interface LastCopies {
  /** Whether each of these events is seen, so that its line stands in another part. A dead letter stands nowhere. */
  areShipped(identities: readonly Identity[]): Promise<boolean>
  /** Commits a batch of a part's lines: their events are seen from now on, and that much of the part is committed. */
  keep(identities: readonly Identity[], part: CommittedPart): Promise<void>
}

export interface OpenStream {
  /**
   * Resolves when the sink is responsible for every event that is not named in `refusals`, or for some of them: then
   * `partial` says for which, and why for no more. Called again only after the delivery before it was committed. Throws
   * Failure when nothing can be promised; what was handed over before that may arrive twice, except in transactional
   * sinks, which take it back first.
   */
  deliver(events: readonly Event[], signal: AbortSignal): Promise<Delivery>
  /** Lets go of the stream. Safe twice; never rejects. */
  close(): Promise<void>
}
