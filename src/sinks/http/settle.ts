import type { Refusal, RefusalReason, SkipReason } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import { excerptOf, notBefore } from './answer-texts.ts'
import type { Piece, Settled } from './bodies.ts'
import type { EventOutcome } from './protocol/preset.ts'
import { isTaken, maxRestMs, type Requests, type Sent } from './requests.ts'

/** The stream of a delivery, and what is known of its sink. */
export interface Evidence {
  readonly stream: string
  readonly tally: Tally
  /** Whether the sink has ever accepted an event, by this process or by the store. */
  readonly hasTaken: () => Promise<boolean>
  /** A refusal needs no other event as evidence: the events are dead letters already, or a person tries one. */
  readonly refusalsStand: boolean
}

interface SettleDeps extends Evidence {
  readonly requests: Pick<Requests, 'what' | 'send' | 'mask'>
  readonly clock: Clock
  /** Waits before events that the destination returned are sent again. */
  readonly pause: (again: number, signal: AbortSignal) => Promise<void>
  /** Reports events that the destination dropped without saying which. */
  readonly lost: (count: number, answer: string) => void
}

const maxAgain = 3
/** With more events than these without a clear answer the destination counts as the cause, not the events. */
const maxSuspects = 8
/** How many more events are tried alone before the sink itself counts as the cause, and at the next tries. */
const samplesAtFirst = 32
const samplesLater = 4

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
 * Throws Failure like `Send`, `rejected` (retry), and `sink_refuses` (stop) where the sink has never taken an event.
 */
export async function settleBatch(
  batch: readonly Piece[],
  deps: SettleDeps,
  settled: Settled,
  signal: AbortSignal,
): Promise<void> {
  await new UnsettledBatch(batch, deps, settled).settle(signal)
}

class UnsettledBatch {
  readonly #deps: SettleDeps
  readonly #settled: Settled
  readonly #open: Open
  /** Events that got no clear answer when sent alone; tried once more after all others. */
  readonly #suspects: Piece[] = []
  /** Single events without a clear answer in a row, with no event accepted since. */
  #silent = 0
  #hasTaken = false
  /** Refused so far, while it is not decided whether the events or the sink are the cause. */
  readonly #undecided: Refusal[] = []
  /** The sink is in doubt; the events set aside are sent once it is not any more. */
  #isDoubted = false
  /** The events are the cause, as earlier tries of the batch have shown. */
  #isProven = false

  constructor(batch: readonly Piece[], deps: SettleDeps, settled: Settled) {
    this.#deps = deps
    this.#settled = settled
    this.#open = new Open(batch)
  }

  async settle(signal: AbortSignal): Promise<void> {
    const { tally, stream, refusalsStand } = this.#deps
    if (tally.timesRefused(stream) > 0 && !refusalsStand) this.#doubt(samplesLater)
    await this.#sendAll(signal)
    // Samples that are too old say nothing of the sink.
    if (this.#isDoubted && this.#undecided.length === 0) await this.#sendRest(signal)
    if (this.#isDoubted && tally.refusedWhole(stream)) {
      this.#isProven = true
      await this.#sendRest(signal)
    }
    if (this.#isDoubted) throw await this.#refusesAll()
    this.#settled.refusals.push(...this.#undecided)
  }

  async #sendAll(signal: AbortSignal): Promise<void> {
    for (let part = this.#next(); part !== undefined; part = this.#next())
      await this.#apply(part, await this.#deps.requests.send(part.pieces, signal, part.tries), signal)
  }

  async #sendRest(signal: AbortSignal): Promise<void> {
    this.#trust()
    await this.#sendAll(signal)
  }

  #doubt(samples: number): void {
    const { tally, stream } = this.#deps
    this.#isDoubted = true
    // Others each time, so that any event of the batch is tried at some time.
    this.#open.sample(samples, tally.timesRefused(stream))
  }

  #trust(): void {
    this.#isDoubted = false
    this.#open.bringBack()
  }

  async #refusesAll(): Promise<Failure> {
    const { requests, hasTaken } = this.#deps
    const said = excerptOf(this.#undecided[0]?.answer ?? '')
    const [lost, never] = ['accepts no event any more', 'refuses every event and has accepted none yet']
    if (!(await hasTaken()))
      return new Failure(
        'stop',
        'sink_refuses',
        `${requests.what} ${never}${said}: check preset, format and url`,
      )
    const remedy = 'check what has changed there; the events are kept and tried again'
    return new Failure('retry', 'rejected', `${requests.what} ${lost}${said}: ${remedy}`)
  }

  #next(): Part | undefined {
    const next = this.#open.next()
    const suspect = next === undefined ? this.#suspects.shift() : undefined
    return suspect === undefined ? next : { pieces: [suspect], again: 0, isLastTry: true }
  }

  async #apply(part: Part, sent: Sent, signal: AbortSignal): Promise<void> {
    const { pieces } = part
    if (sent.kind === 'delivered') {
      this.#take(pieces)
      if (sent.lost !== undefined) this.#lose(sent.lost.count, sent.lost.answer)
    } else if (sent.kind === 'each') await this.#sortOut(part, sent, signal)
    else if (sent.kind === 'unexplained') this.#isolate(part, sent.failure)
    else if (pieces.length === 1) this.#refuse(pieces[0]!, sent.reason, sent.said)
    else this.#open.halve(part)
  }

  #take(pieces: readonly Piece[]): void {
    if (pieces.length === 0) return
    this.#deps.tally.tookOne(this.#deps.stream)
    this.#hasTaken = true
    // From now on refusals are the fault of the events.
    this.#settled.refusals.push(...this.#undecided.splice(0))
    if (this.#isDoubted) this.#trust()
    this.#silent = 0
    for (const { event, bytes } of pieces) {
      this.#settled.taken.push(event)
      this.#settled.bytes += bytes
    }
  }

  #lose(count: number, answer: string): void {
    this.#settled.lost += count
    this.#deps.lost(count, this.#deps.requests.mask(answer))
  }

  #refuse({ event }: Piece, reason: RefusalReason | SkipReason, said: string): void {
    const { requests, tally, refusalsStand } = this.#deps
    const answer = requests.mask(said)
    // The age is a property of the event, and no evidence about the sink.
    if (this.#hasTaken || this.#isProven || refusalsStand || reason === 'too_old') {
      this.#settled.refuse(event, reason, answer)
      return
    }
    this.#undecided.push({ event, reason, answer })
    const isDoubtful = tally.refusedOne(event) || this.#undecided.length >= doubtAfter
    if (isDoubtful && !this.#isDoubted) this.#doubt(samplesAtFirst)
  }

  #isolate(part: Part, failure: Failure): void {
    const [piece, ...others] = part.pieces
    if (others.length > 0) {
      this.#silent = 0
      this.#open.halve(part)
      this.#open.tryOneAlone()
      return
    }
    const why = `the destination accepted other events of the same body, but not this one: ${failure.message}`
    if (part.isLastTry === true) return this.#refuse(piece!, 'refused', why)
    this.#suspects.push(piece!)
    this.#silent++
    const isTrouble = this.#silent > 1 || this.#suspects.length > maxSuspects
    if (isTrouble || (!this.#open.tryOneAlone() && !this.#hasTaken)) throw failure
  }

  async #sortOut(part: Part, sent: Sent & { kind: 'each' }, signal: AbortSignal): Promise<void> {
    const { pieces, again } = part
    const outcomes = pieces.map(({ event }) => sent.outcomes.get(event))
    this.#take(pieces.filter((_, index) => isTaken(outcomes[index])))
    // Before the refusals: where they put the sink in doubt, the samples are taken from these too.
    this.#open.add({ pieces: pieces.filter((_, index) => outcomes[index] === 'unsent'), again })
    for (const [index, piece] of pieces.entries()) {
      const outcome = outcomes[index]
      if (typeof outcome === 'object' && 'refused' in outcome)
        this.#refuse(piece, outcome.refused, outcome.answer)
    }
    if (sent.failure !== undefined) throw sent.failure
    const back = pieces.filter((_, index) => isReturned(outcomes[index]))
    if (back.length > 0) await this.#sendAgain({ ...part, pieces: back }, sent, signal)
  }

  async #sendAgain(
    { pieces, again }: Part,
    sent: Sent & { kind: 'each' },
    signal: AbortSignal,
  ): Promise<void> {
    const { requests, pause, clock } = this.#deps
    const outcomes = pieces.map(({ event }) => sent.outcomes.get(event))
    const retries = outcomes.filter((outcome) => typeof outcome === 'object' && 'retry' in outcome)
    const count = pieces.length === 1 ? 'an event' : `${pieces.length} events`
    const message = `${requests.what} did not accept ${count}${excerptOf(requests.mask(retries[0]?.retry ?? sent.said))}`
    const retryAtMs = Math.max(0, ...retries.map((retry) => retry.retryAtMs ?? 0))
    const waitMs = retryAtMs - clock.now()
    if (waitMs > maxRestMs) throw notBefore(retryAtMs, 'throttled', message)
    if (again + 1 < maxAgain) {
      await (waitMs > 0 ? clock.sleep(waitMs, signal) : pause(again, signal))
      this.#open.add({ pieces, again: again + 1 })
      return
    }
    const mayRefuse = retries.length === pieces.length && retries.every(({ refuseAfter }) => refuseAfter)
    if (!mayRefuse || !this.#hasTaken) throw new Failure('retry', 'server_error', message)
    for (const [index, piece] of pieces.entries()) this.#refuse(piece, 'refused', retries[index]!.retry)
  }
}

function isReturned(outcome: EventOutcome | undefined): boolean {
  return outcome === undefined || (typeof outcome === 'object' && 'retry' in outcome)
}

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

/** The parts of a batch that are still to be sent, as a stack. */
class Open {
  readonly #parts: Part[]
  #setAside: readonly Piece[] = []

  constructor(batch: readonly Piece[]) {
    this.#parts = [{ pieces: batch, again: 0 }]
  }

  next(): Part | undefined {
    return this.#parts.pop()
  }

  add(part: Part): void {
    if (part.pieces.length > 0) this.#parts.push(part)
  }

  halve({ pieces, again }: Part): void {
    const middle = Math.ceil(pieces.length / 2)
    this.#parts.push({ pieces: pieces.slice(middle), again }, { pieces: pieces.slice(0, middle), again })
  }

  /** Moves the last event of the next part to the front, to be sent alone. False if nothing is left. */
  tryOneAlone(): boolean {
    const part = this.#parts.pop()
    if (part === undefined) return false
    this.add({ ...part, pieces: part.pieces.slice(0, -1) })
    this.add({ pieces: part.pieces.slice(-1), again: part.again, tries: 1 })
    return true
  }

  /** Leaves so many events from all that is open, each alone, and sets the others aside. */
  sample(samples: number, offset: number): void {
    const left = this.#parts
      .splice(0)
      .reverse()
      .flatMap(({ pieces }) => pieces)
    const step = Math.ceil(left.length / samples)
    const isSample = (_: Piece, index: number) => index % step === offset % step
    this.#setAside = left.filter((piece, index) => !isSample(piece, index))
    for (const piece of left.filter(isSample).reverse()) this.#parts.push({ pieces: [piece], again: 0 })
  }

  /** Sends what `sample` set aside after the rest. */
  bringBack(): void {
    if (this.#setAside.length > 0) this.#parts.unshift({ pieces: this.#setAside, again: 0 })
    this.#setAside = []
  }
}

/** This many refusals in a row, of a batch or of the sink, put the sink in doubt. */
const doubtAfter = 8
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
    if (this.#whole.size > mostStreams) this.#whole.delete(this.#whole.keys().next().value!)
    return false
  }
}
