import type { Delivery, Refusal, RefusalReason, Skip, SkipReason } from '../domain/event/delivery.ts'
import type { Event } from '../domain/event/event.ts'
import { Failure } from '../domain/failure.ts'
import { streamKey, type Stream } from '../domain/stream.ts'
import type { OpenOptions } from '../ports/delivery.ts'
import { backoff, backoffMs } from '../transport/retry.ts'
import type { SinkDeps } from './deps.ts'

/** One event of a batch, encoded. */
interface Piece {
  readonly event: Event
  readonly bytes: number
}

export type RefusedFor = RefusalReason | 'too_old'

/**
 * The outcome of one event of a request. Texts are raw: callers must mask and cut them.
 * - `delivered`, `duplicate`: the destination has it, now or from before.
 * - `unsent`: the destination stopped reading before this event; send it again at once.
 * - `retry`: send it again later, a bounded number of times. With `refuseAfter` an event that is still not accepted
 *   then, while others are, counts as refused; one with `pauseMs` also where it is alone, after pauses of that length.
 * - `refused`: the destination will never accept it; `too_old` says that this is due to its age.
 */
export type EventOutcome =
  'delivered' | 'duplicate' | 'unsent' | Returned | { readonly refused: RefusedFor; readonly answer: string }

interface Returned {
  readonly retry: string
  readonly refuseAfter?: true
  readonly pauseMs?: number
}

export function isTaken(outcome: EventOutcome | undefined): outcome is 'delivered' | 'duplicate' {
  return outcome === 'delivered' || outcome === 'duplicate'
}

/** What became of a batch or a part of it. Its texts are raw: callers must mask and cut them. */
export type Sent =
  | { readonly kind: 'delivered'; readonly lost?: { readonly count: number }; readonly receipt?: number }
  | { readonly kind: 'split'; readonly reason: RefusedFor; readonly said: string }
  /** An event without an outcome is sent again later. `failure` holds for the events to be sent again. */
  | {
      readonly kind: 'each'
      readonly outcomes: ReadonlyMap<Event, EventOutcome>
      readonly said: string
      readonly failure?: Failure
    }
  /** Either the destination fails, or something in the batch makes it fail. */
  | { readonly kind: 'unexplained'; readonly failure: Failure }

/** Where batches are sent. */
export interface Destination<Each> {
  /** Names sink and destination in failures, without secrets. */
  readonly what: string
  /** What to check where it refuses everything. */
  readonly remedy: string
  /** `tries`: of one request, where it only tests the destination. Throws Failure. */
  send(pieces: readonly Each[], signal: AbortSignal, tries?: number): Promise<Sent>
  /** An event that it finds too old is counted and kept nowhere. Default: a dead letter, since its settings allow the age. */
  readonly skipsTooOld?: boolean
  /** Replaces secrets in a text of the destination, and makes it one line of at most 4 KiB of UTF-8. */
  mask(text: string): string
}

/** A delivery of one stream, and what is known of its sink. */
interface Settling<Each>
  extends Pick<SinkDeps, 'clock' | 'random'>, Pick<OpenOptions, 'hasTaken' | 'refusalsStand'> {
  readonly stream: Stream
  readonly tally: Tally
  readonly to: Destination<Each>
  readonly signal: AbortSignal
}

const maxAgain = 3
/** With more events than these without a clear answer the destination counts as the cause, not the events. */
const maxSuspects = 8
/** This many refusals in a row, of a batch or of the sink, put the sink in doubt. */
const doubtAfter = 8
/** How many more events are tried alone before the sink itself counts as the cause, and at the next tries. */
const samplesAtFirst = 32
const samplesLater = 4

/** A part of a batch still to be sent. */
interface Part<Each> {
  readonly pieces: readonly Each[]
  /** How often the destination returned these events. */
  readonly again?: number
  readonly tries?: number
  /** An event that decides whether the sink accepts any. */
  readonly isSample?: true
  /** Every other event of the batch is settled: if this one is not accepted now, it is refused. */
  readonly isLastTry?: true
}

/**
 * Sends the batches of a delivery, one after the other, until each of their events is taken or refused. A refused batch
 * is halved, the first half first: one bad event among n costs about 2 log2 n requests, and n bad ones never more than
 * 2n - 1. One event that the sink accepts is the witness that refusals are due to the events. The states of a batch:
 *
 * - `unproven`: none was accepted yet. Refusals are kept undecided.
 * - `doubted`: 8 events in a row were refused. Only samples are sent, up to 32 others from the whole batch, each alone:
 *   without them an attacker could stop a stream with 8 bad events. If none is accepted, the error is the sink's, and
 *   nothing is refused. The stream's next try begins here with 4 samples, others each time.
 * - `proven`: one was accepted, or a batch of bad events only was tried several times, and the sink took events of others
 *   in between. All that is refused stays refused.
 *
 * A batch to which the destination answers only 500, or nothing, may be too large, or hold one event that breaks the
 * destination. Single events of it are tried: if one is taken, the batch is halved, and what is still not taken when
 * everything else was counts as refused. If two are not taken, the destination is in trouble, and nothing is refused.
 */
export class Settlement<Each extends Piece> {
  // What became of the delivery so far; it stays so when the rest fails.
  readonly taken: Event[] = []
  readonly refusals: Refusal[] = []
  readonly skipped: Skip[] = []
  /** Bodies that wait at the destination by their receipts: accepts their events, once it confirms it. */
  readonly waiting = new Map<number, () => void>()
  readonly #by: Settling<Each>
  readonly #stream: string
  /** Of the accepted events: those that the destination says it dropped, without saying which. */
  #lost = 0
  /** Of the accepted events. */
  #bytes = 0

  // The batch at hand.
  #state: 'unproven' | 'doubted' | 'proven' = 'unproven'
  /** A stack: the last is sent next. */
  #parts: Part<Each>[] = []
  /** Events that got no clear answer when sent alone; tried once more after all others. */
  #suspects: Each[] = []
  /** Single events without a clear answer in a row, with no event accepted since. */
  #silent = 0
  #undecided: Refusal[] = []

  constructor(by: Settling<Each>) {
    this.#by = by
    this.#stream = streamKey(by.stream)
  }

  /** An event that is not accepted: a dead letter, or too old to be one. */
  refuse(event: Event, reason: RefusalReason | SkipReason, answer: string): undefined {
    if (reason === 'too_old') this.skipped.push({ event, reason, answer })
    else this.refusals.push({ event, reason, answer })
  }

  /** Throws Failure like `send`, `rejected` (retry), and `sink_refuses` (stop) where the sink has never taken an event. */
  async settle(batch: readonly Each[]): Promise<void> {
    const { refusalsStand, signal, tally, to } = this.#by
    this.#state = 'unproven'
    this.#parts = [{ pieces: batch }]
    this.#suspects = []
    this.#silent = 0
    this.#undecided = []
    if (tally.timesRefused(this.#stream) > 0 && refusalsStand !== true) this.#doubt(samplesLater)
    for (let part = await this.#next(); part !== undefined; part = await this.#next())
      await this.#apply(part, await to.send(part.pieces, signal, part.tries))
    this.refusals.push(...this.#undecided)
  }

  /**
   * What became of a delivery that ended with this failure, if with one. Throws it where nothing is settled. Before the
   * sink has accepted any event, a refusal may be an error of the sink, and one by size needs no proof: refusals alone are
   * then too few to show which, so nothing becomes a dead letter. The next accepted event, of any stream, decides.
   */
  async delivery(failure?: Failure, isKeptBack = false): Promise<Delivery> {
    const { taken, refusals, skipped } = this
    const { refusalsStand, to } = this.#by
    if (failure !== undefined && taken.length + refusals.length + skipped.length === 0) throw failure
    const open = refusalsStand === true ? [] : refusals.filter(({ reason }) => reason === 'refused')
    if (open.length > 0 && !(await this.#hasTaken())) {
      const count = open.length === 1 ? 'the only event' : `all ${open.length} events`
      const said = excerptOf(open[0]!.answer)
      const why = `${to.what} refused ${count} and has accepted none yet${said}: ${to.remedy}`
      throw failure ?? new Failure('retry', 'rejected', why)
    }
    return {
      refusals,
      committed: [],
      bytes: this.#bytes,
      ...(skipped.length > 0 && { skipped }),
      ...(this.#lost > 0 && { lost: this.#lost }),
      ...((failure !== undefined || isKeptBack) && { partial: { taken, failure } }),
    }
  }

  /** Whether the sink has ever accepted an event, by this process or by the store. */
  async #hasTaken(): Promise<boolean> {
    return this.#by.tally.hasTaken() || (await this.#by.hasTaken?.()) === true
  }

  async #next(): Promise<Part<Each> | undefined> {
    if (this.#state === 'doubted' && this.#parts.at(-1)?.isSample !== true) await this.#judge()
    const part = this.#parts.pop()
    if (part !== undefined) return part
    const suspect = this.#suspects.shift()
    return suspect && { pieces: [suspect], isLastTry: true }
  }

  /** No sample was accepted. */
  async #judge(): Promise<void> {
    const { tally, to } = this.#by
    // Samples that are too old say nothing of the sink.
    if (this.#undecided.length === 0) this.#state = 'unproven'
    else if (tally.refusedWhole(this.#stream)) this.#prove()
    else {
      const said = excerptOf(this.#undecided[0]!.answer)
      const [never, anyMore] = ['refuses every event and has accepted none yet', 'accepts no event any more']
      const kept = 'check what has changed there; the events are kept and tried again'
      throw (await this.#hasTaken())
        ? new Failure('retry', 'rejected', `${to.what} ${anyMore}${said}: ${kept}`)
        : new Failure('stop', 'sink_refuses', `${to.what} ${never}${said}: ${to.remedy}`)
    }
  }

  #doubt(samples: number): void {
    this.#state = 'doubted'
    this.#sendAlone(samples)
  }

  #prove(): void {
    this.#state = 'proven'
    this.refusals.push(...this.#undecided.splice(0))
  }

  /** Moves so many events of all that is open to the front, each alone. False if nothing is open. */
  #sendAlone(count: number, tries?: 1): boolean {
    const open = this.#parts.toReversed().flatMap(({ pieces }) => pieces)
    const step = Math.ceil(open.length / count)
    // Others each time, so that any event of the batch is tried at some time.
    const offset = this.#by.tally.timesRefused(this.#stream) % step
    const chosen = new Set(open.filter((_, index) => index % step === offset))
    const parts = this.#parts.map((part) => ({
      ...part,
      pieces: part.pieces.filter((piece) => !chosen.has(piece)),
    }))
    this.#parts = parts.filter(({ pieces }) => pieces.length > 0)
    const as = { ...(tries && { tries }), ...(this.#state === 'doubted' && { isSample: true as const }) }
    for (const piece of [...chosen].toReversed()) this.#parts.push({ ...as, pieces: [piece] })
    return chosen.size > 0
  }

  async #apply(part: Part<Each>, sent: Sent): Promise<void> {
    const { pieces } = part
    if (sent.kind === 'delivered') {
      this.#take(pieces, sent.receipt)
      this.#lost += sent.lost?.count ?? 0
    } else if (sent.kind === 'each') await this.#sortOut(part, sent)
    else if (sent.kind === 'unexplained') this.#isolate(part, sent.failure)
    else if (pieces.length === 1) this.#refuse(pieces[0]!, sent.reason, sent.said)
    else this.#halve(part)
  }

  #take(pieces: readonly Each[], receipt?: number): void {
    if (pieces.length === 0) return
    this.#by.tally.tookOne(this.#stream)
    this.#prove()
    this.#silent = 0
    const accept = () => {
      for (const { event, bytes } of pieces) {
        this.taken.push(event)
        this.#bytes += bytes
      }
    }
    if (receipt === undefined) accept()
    else this.waiting.set(receipt, accept)
  }

  #refuse({ event }: Each, refusedFor: RefusedFor, said: string): void {
    const { refusalsStand, tally, to } = this.#by
    const answer = to.mask(said)
    const isTooOld = refusedFor === 'too_old'
    if (isTooOld && to.skipsTooOld === true) return this.refuse(event, refusedFor, answer)
    // The destination takes less than `batch.maxAgeHours` says, so nobody knew it before: a person has to be told.
    const refusal = { event, reason: isTooOld ? 'refused' : refusedFor, answer } as const
    // The age is a property of the event, and no evidence about the sink.
    if (this.#state === 'proven' || refusalsStand === true || isTooOld)
      return void this.refusals.push(refusal)
    this.#undecided.push(refusal)
    const isDoubtful = tally.refusedOne(event) || this.#undecided.length >= doubtAfter
    if (isDoubtful && this.#state === 'unproven') this.#doubt(samplesAtFirst)
  }

  #halve(part: Part<Each>): void {
    const middle = Math.ceil(part.pieces.length / 2)
    this.#parts.push({ ...part, pieces: part.pieces.slice(middle) })
    this.#parts.push({ ...part, pieces: part.pieces.slice(0, middle) })
  }

  #isolate(part: Part<Each>, failure: Failure): void {
    if (part.pieces.length > 1) {
      this.#silent = 0
      this.#halve(part)
      this.#sendAlone(1, 1)
      return
    }
    const piece = part.pieces[0]!
    const why = `the destination accepted other events of the same body, but not this one: ${failure.message}`
    if (part.isLastTry === true) return this.#refuse(piece, 'refused', why)
    this.#suspects.push(piece)
    this.#silent++
    const isTrouble = this.#silent > 1 || this.#suspects.length > maxSuspects
    if (isTrouble || (!this.#sendAlone(1, 1) && this.#state !== 'proven')) throw failure
  }

  async #sortOut(part: Part<Each>, { outcomes, said, failure }: Extract<Sent, { kind: 'each' }>) {
    const outcomeOf = ({ event }: Each) => outcomes.get(event) ?? { retry: said }
    const taken = part.pieces.filter((piece) => isTaken(outcomeOf(piece)))
    const unsent = part.pieces.filter((piece) => outcomeOf(piece) === 'unsent')
    this.#take(taken)
    // Before the refusals: where they put the sink in doubt, the samples are taken from these too.
    if (unsent.length > 0) this.#parts.push({ ...part, pieces: unsent })
    const returned: (Returned & { readonly piece: Each })[] = []
    for (const piece of part.pieces) {
      const outcome = outcomeOf(piece)
      if (typeof outcome === 'string') continue
      if ('refused' in outcome) this.#refuse(piece, outcome.refused, outcome.answer)
      else returned.push({ piece, ...outcome })
    }
    if (failure !== undefined) throw failure
    if (returned.length === 0) return
    const { clock, random = Math.random, signal, to } = this.#by
    const again = (part.again ?? 0) + 1
    if (again < maxAgain) {
      const pauses = returned.map(({ pauseMs = 0 }) => pauseMs)
      await clock.sleep(Math.max(backoffMs(again - 1, backoff, random), ...pauses), signal)
      this.#parts.push({ ...part, pieces: returned.map(({ piece }) => piece), again })
    } else if (
      returned.every(
        ({ refuseAfter, pauseMs }) =>
          pauseMs !== undefined || (refuseAfter === true && this.#state === 'proven'),
      )
    )
      for (const { piece, retry } of returned) this.#refuse(piece, 'refused', retry)
    else {
      const count = returned.length === 1 ? 'an event' : `${returned.length} events`
      const message = `${to.what} did not accept ${count}${excerptOf(to.mask(returned[0]!.retry))}`
      throw new Failure('retry', 'server_error', message)
    }
  }
}

const excerptLength = 200

/** The beginning of an answer, for a message. */
export function excerptOf(text: string): string {
  if (text === '') return ''
  return ` (${text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text})`
}

/** A batch is tried so often, with events of others accepted in between, before its events count as the cause. */
const triesOfWhole = 3

/** What the streams of a sink know of it together, in this process. */
export class Tally {
  #taken = 0
  /** By id: repeated refusals of the same event count once. */
  readonly #inARow = new Set<string>()
  /**
   * Streams whose batch was refused as a whole: how often in a row, at how many of these times the sink had accepted
   * events of others since the time before, and how many events it had accepted then.
   */
  readonly #whole = new Map<
    string,
    { readonly times: number; readonly witnessed: number; readonly taken: number }
  >()

  hasTaken(): boolean {
    return this.#taken > 0
  }

  tookOne(stream: string): void {
    this.#taken++
    this.#inARow.clear()
    this.#whole.delete(stream)
  }

  /** How often in a row a batch of the stream was refused as a whole. */
  timesRefused(stream: string): number {
    return this.#whole.get(stream)?.times ?? 0
  }

  /** Counts an event refused alone. Returns true when the sink has refused enough in a row, of any streams. */
  refusedOne({ zone, id, time = '' }: Event): boolean {
    if (this.#inARow.size < doubtAfter) this.#inARow.add(`${zone.id}/${id}/${time}`)
    return this.#inARow.size >= doubtAfter
  }

  /** Counts a batch of which no event was accepted. Returns true when the events must be the cause. */
  refusedWhole(stream: string): boolean {
    const { times, witnessed, taken } = this.#whole.get(stream) ?? { times: 0, witnessed: 0, taken: -1 }
    const now = { times: times + 1, witnessed: witnessed + Number(this.#taken > taken), taken: this.#taken }
    this.#whole.delete(stream)
    if (now.witnessed > triesOfWhole) return true
    this.#whole.set(stream, now)
    return false
  }
}
