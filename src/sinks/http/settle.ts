import type { Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import { excerptOf } from './exchanges.ts'
import type { Piece, Settled } from './bodies.ts'
import { isTaken, type RefusedFor } from './protocol/preset.ts'
import type { Requests, Sent } from './requests.ts'

/** The stream of a delivery, and what is known of its sink. */
export interface Evidence {
  readonly stream: string
  readonly tally: Tally
  /** Whether the sink has ever accepted an event, by this process or by the store. */
  readonly hasTaken: () => Promise<boolean>
  /** A refusal needs no other event as evidence: the events are dead letters already, or a person tries one. */
  readonly refusalsStand: boolean
}

interface Settling extends Evidence {
  readonly requests: Pick<Requests, 'what' | 'send' | 'mask' | 'pause'>
  readonly settled: Settled
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
interface Part {
  readonly pieces: readonly Piece[]
  /** How often the destination returned these events. */
  readonly again: number
  /** Tries of one request, where it only tests the destination. */
  readonly tries?: number
  /** Every other event of the batch is settled: if this one is not accepted now, it is refused. */
  readonly isLastTry?: boolean
}

/** An event that the destination returned: it may be sent again. */
interface Returned {
  readonly piece: Piece
  readonly why: string
  readonly refuseAfter: boolean
}

/**
 * Sends a batch until each of its events is taken or refused. A refused batch is halved, the first half first: one bad
 * event among n costs about 2 log2 n requests, and n bad ones never more than 2n - 1.
 *
 * When 8 events in a row are refused and none of the batch was taken, up to 32 others from the whole batch are sent
 * alone: if none of them is taken either, the error is the sink's and nothing is refused; as soon as one is, the refused
 * ones are. Without these samples an attacker could stop a stream with 8 bad events in a row. The stream's next try
 * begins with 4 such samples, others each time. A batch of bad events only is refused when it was tried several times and the sink took
 * events of others in between.
 *
 * A batch to which the destination answers only 500, or nothing, may be too large, or hold one event that breaks the
 * destination. Single events of it are tried: if one is taken, the batch is halved, and what is still not taken when
 * everything else was counts as refused. If two are not taken, the destination is in trouble, and nothing is refused.
 *
 * `settle` throws Failure like `Requests.send`, `rejected` (retry), and `sink_refuses` (stop) where the sink has never taken an event.
 */
export class UnsettledBatch {
  readonly #by: Settling
  /** A stack: the last is sent next. */
  readonly #parts: Part[]
  /** What the samples leave, while the sink is in doubt. */
  #setAside: readonly Piece[] = []
  /** Events that got no clear answer when sent alone; tried once more after all others. */
  readonly #suspects: Piece[] = []
  /** Single events without a clear answer in a row, with no event accepted since. */
  #silent = 0
  #hasTaken = false
  /** What refusals are due to. While samples decide whether it is the sink, it counts as `sink`. */
  #cause: 'unknown' | 'sink' | 'events'
  /** Refused while the cause was not `events`. */
  readonly #undecided: Refusal[] = []

  constructor(batch: readonly Piece[], by: Settling) {
    this.#parts = [{ pieces: batch, again: 0 }]
    this.#by = by
    this.#cause = by.refusalsStand ? 'events' : 'unknown'
  }

  async settle(): Promise<void> {
    const { tally, stream } = this.#by
    if (tally.timesRefused(stream) > 0 && this.#cause === 'unknown') this.#doubt(samplesLater)
    await this.#sendAll()
    while (this.#cause === 'sink') {
      // Samples that are too old say nothing of the sink.
      if (this.#undecided.length === 0) this.#decide('unknown')
      else if (tally.refusedWhole(stream)) this.#decide('events')
      else throw await this.#refusesAll()
      await this.#sendAll()
    }
    this.#by.settled.refusals.push(...this.#undecided)
  }

  async #sendAll(): Promise<void> {
    for (let part = this.#next(); part !== undefined; part = this.#next())
      await this.#apply(part, await this.#by.requests.send(part.pieces, this.#by.signal, part.tries))
  }

  #next(): Part | undefined {
    const suspect = this.#parts.length === 0 ? this.#suspects.shift() : undefined
    return suspect === undefined ? this.#parts.pop() : { pieces: [suspect], again: 0, isLastTry: true }
  }

  /** Leaves so many events of all that is open, each alone, and sets the others aside. */
  #doubt(samples: number): void {
    const { tally, stream } = this.#by
    this.#cause = 'sink'
    const parts = this.#parts.splice(0).reverse()
    const left = parts.flatMap(({ pieces }) => pieces)
    const step = Math.ceil(left.length / samples)
    // Others each time, so that any event of the batch is tried at some time.
    const offset = tally.timesRefused(stream) % step
    const isSample = (_: Piece, index: number) => index % step === offset
    this.#setAside = left.filter((piece, index) => !isSample(piece, index))
    for (const piece of left.filter(isSample).reverse()) this.#add([piece])
  }

  /** Sends what was set aside after the rest. */
  #decide(cause: 'unknown' | 'events'): void {
    this.#cause = cause
    if (this.#setAside.length > 0) this.#parts.unshift({ pieces: this.#setAside, again: 0 })
    this.#setAside = []
  }

  async #refusesAll(): Promise<Failure> {
    const { what } = this.#by.requests
    const said = excerptOf(this.#undecided[0]?.answer ?? '')
    if (await this.#by.hasTaken()) {
      const remedy = 'check what has changed there; the events are kept and tried again'
      return new Failure('retry', 'rejected', `${what} accepts no event any more${said}: ${remedy}`)
    }
    const never = `${what} refuses every event and has accepted none yet${said}`
    return new Failure('stop', 'sink_refuses', `${never}: check preset, format and url`)
  }

  async #apply(part: Part, sent: Sent): Promise<void> {
    const { pieces } = part
    if (sent.kind === 'delivered') {
      this.#take(pieces, sent.receipt)
      this.#by.settled.lost += sent.lost?.count ?? 0
    } else if (sent.kind === 'each') await this.#sortOut(part, sent)
    else if (sent.kind === 'unexplained') this.#isolate(part, sent.failure)
    else if (pieces.length === 1) this.#refuse(pieces[0]!, sent.reason, sent.said)
    else this.#halve(part)
  }

  #take(pieces: readonly Piece[], receipt?: number): void {
    if (pieces.length === 0) return
    this.#by.tally.tookOne(this.#by.stream)
    this.#hasTaken = true
    this.#decide('events')
    this.#by.settled.refusals.push(...this.#undecided.splice(0))
    this.#silent = 0
    this.#by.settled.take(pieces, receipt)
  }

  #refuse({ event }: Piece, refusedFor: RefusedFor, said: string): void {
    const isTooOld = refusedFor === 'too_old'
    // The destination takes less than `batch.maxAgeHours` says, so nobody knew it before: a person has to be told.
    const reason = isTooOld ? 'refused' : refusedFor
    const refusal = { event, reason, answer: this.#by.requests.mask(said) }
    // The age is a property of the event, and no evidence about the sink.
    if (this.#cause === 'events' || isTooOld) return void this.#by.settled.refusals.push(refusal)
    this.#undecided.push(refusal)
    const isDoubtful = this.#by.tally.refusedOne(event) || this.#undecided.length >= doubtAfter
    if (isDoubtful && this.#cause === 'unknown') this.#doubt(samplesAtFirst)
  }

  #isolate(part: Part, failure: Failure): void {
    if (part.pieces.length > 1) {
      this.#silent = 0
      this.#halve(part)
      this.#tryOneAlone()
      return
    }
    const piece = part.pieces[0]!
    const why = `the destination accepted other events of the same body, but not this one: ${failure.message}`
    if (part.isLastTry === true) return this.#refuse(piece, 'refused', why)
    this.#suspects.push(piece)
    this.#silent++
    const isTrouble = this.#silent > 1 || this.#suspects.length > maxSuspects
    if (isTrouble || (!this.#tryOneAlone() && !this.#hasTaken)) throw failure
  }

  async #sortOut({ pieces, again }: Part, sent: Extract<Sent, { kind: 'each' }>): Promise<void> {
    const { outcomes, failure, said } = sent
    const taken: Piece[] = []
    const unsent: Piece[] = []
    const returned: Returned[] = []
    const refused: (() => void)[] = []
    for (const piece of pieces) {
      const outcome = outcomes.get(piece.event)
      if (isTaken(outcome)) taken.push(piece)
      else if (outcome === 'unsent') unsent.push(piece)
      else if (outcome !== undefined && 'refused' in outcome)
        refused.push(() => this.#refuse(piece, outcome.refused, outcome.answer))
      else returned.push({ piece, why: outcome?.retry ?? said, refuseAfter: outcome?.refuseAfter === true })
    }
    this.#take(taken)
    // Before the refusals: where they put the sink in doubt, the samples are taken from these too.
    this.#add(unsent, again)
    for (const refuse of refused) refuse()
    if (failure !== undefined) throw failure
    if (returned.length > 0) await this.#sendAgain(returned, again + 1)
  }

  async #sendAgain(returned: readonly Returned[], again: number): Promise<void> {
    if (again < maxAgain) {
      await this.#by.requests.pause(again - 1, this.#by.signal)
      return this.#add(
        returned.map(({ piece }) => piece),
        again,
      )
    }
    if (this.#hasTaken && returned.every(({ refuseAfter }) => refuseAfter))
      return returned.forEach(({ piece, why }) => this.#refuse(piece, 'refused', why))
    const { what } = this.#by.requests
    const count = returned.length === 1 ? 'an event' : `${returned.length} events`
    const message = `${what} did not accept ${count}${excerptOf(this.#by.requests.mask(returned[0]!.why))}`
    throw new Failure('retry', 'server_error', message)
  }

  #add(pieces: readonly Piece[], again = 0): void {
    if (pieces.length > 0) this.#parts.push({ pieces, again })
  }

  #halve({ pieces, again }: Part): void {
    const middle = Math.ceil(pieces.length / 2)
    this.#add(pieces.slice(middle), again)
    this.#add(pieces.slice(0, middle), again)
  }

  /** Moves the last event of the next part to the front, to be sent alone. False if nothing is left. */
  #tryOneAlone(): boolean {
    const part = this.#parts.pop()
    if (part === undefined) return false
    this.#add(part.pieces.slice(0, -1), part.again)
    this.#parts.push({ pieces: part.pieces.slice(-1), again: part.again, tries: 1 })
    return true
  }
}

/** A batch is tried so often, with events of others accepted in between, before its events count as the cause. */
const triesOfWhole = 3

/** A stream whose batch was refused as a whole. */
interface Refused {
  readonly times: number
  /** The tries between which the sink accepted events of others. */
  readonly tries: number
  /** How many events the sink had accepted then. */
  readonly taken: number
}

/** What the streams of a sink know of it together, in this process. */
export class Tally {
  #taken = 0
  /** By id: repeated refusals of the same event count once. */
  readonly #inARow = new Set<string>()
  readonly #whole = new Map<string, Refused>()

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

  /**
   * Counts a batch of which no event was accepted. Returns true when the events must be the cause: they were refused
   * several times, and the sink accepted events of others between each two of these times.
   */
  refusedWhole(stream: string): boolean {
    const { times, tries, taken } = this.#whole.get(stream) ?? { times: 0, tries: 0, taken: -1 }
    const now = { times: times + 1, tries: this.#taken > taken ? tries + 1 : tries, taken: this.#taken }
    this.#whole.delete(stream)
    if (now.tries > triesOfWhole) return true
    this.#whole.set(stream, now)
    return false
  }
}
