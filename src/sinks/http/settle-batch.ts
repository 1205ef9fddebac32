import type { Refusal, RefusalReason } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import type { Outcome, Piece } from './presets/preset.ts'
import { excerptOf } from './failures.ts'
import type { Send, Sent } from './send.ts'
import type { Tally } from './tally.ts'

/** A part of a batch still to be sent; `again` counts how often the destination returned it. */
interface Part {
  readonly pieces: readonly Piece[]
  readonly again: number
}

/** Results of a delivery so far. They remain valid when the rest of the delivery fails. */
export interface Settled {
  readonly taken: Event[]
  readonly refusals: Refusal[]
  /** Bytes of the events that were taken. */
  bytes: number
}

export interface SettleDeps {
  /** How failures name the sink. */
  readonly what: string
  readonly send: Send
  readonly tally: Tally
  /** Waits before a part that the destination returned is sent again. */
  readonly pause: (again: number, signal: AbortSignal) => Promise<void>
}

const maxAgain = 3
/** How many more events are tried alone before the sink itself counts as the cause. */
const witnesses = 32

/**
 * Sends a batch until each of its events is taken or refused. A refused batch is halved, the first half first: one bad
 * event among n costs about 2 log2 n requests, and n bad ones never more than 2n - 1.
 *
 * A refusal counts only for a sink that has taken an event at some time. When one that never has refuses 8 in a row, up
 * to 32 others from the whole batch are sent alone: if it takes none of them, the error is the sink's and nothing is
 * refused. Without these samples an attacker could stop a stream with 8 bad events in a row.
 * Throws Failure like `Send`, and `sink_refuses` (stop).
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
  /** Still to be sent, as a stack. */
  readonly #open: Part[]
  #setAside: readonly Piece[] = []
  /** The answer of the destination that put the sink in doubt. */
  #doubted: string | undefined

  constructor(batch: readonly Piece[], deps: SettleDeps, settled: Settled) {
    this.#deps = deps
    this.#settled = settled
    this.#open = [{ pieces: batch, again: 0 }]
  }

  async settle(signal: AbortSignal): Promise<void> {
    const { send, what } = this.#deps
    for (let part = this.#next(); part !== undefined; part = this.#next())
      await this.#apply(part, await send(part.pieces, signal), signal)
    if (this.#doubted === undefined) return
    throw new Failure(
      'stop',
      'sink_refuses',
      `${what} refuses every event and has taken none yet${excerptOf(this.#doubted)}: check preset, format and url`,
    )
  }

  /** An event taken, from any stream, ends the doubt: the events set aside are sent after the rest. */
  #next(): Part | undefined {
    if (this.#doubted !== undefined && this.#deps.tally.everTaken) {
      this.#doubted = undefined
      if (this.#setAside.length > 0) this.#open.unshift({ pieces: this.#setAside, again: 0 })
    }
    return this.#open.pop()
  }

  async #apply(part: Part, sent: Sent, signal: AbortSignal): Promise<void> {
    if (sent.kind === 'accepted') this.#take(part.pieces)
    else if (sent.kind === 'each') await this.#sortOut(part, sent.outcomes, sent.text, signal)
    else if (part.pieces.length === 1) await this.#refuse(part.pieces[0]!, sent.reason, sent.text)
    else this.#halve(part)
  }

  #take(pieces: readonly Piece[]): void {
    if (pieces.length > 0) this.#deps.tally.tookOne()
    for (const { event, bytes } of pieces) {
      this.#settled.taken.push(event)
      this.#settled.bytes += bytes
    }
  }

  async #refuse({ event }: Piece, reason: RefusalReason, answer: string): Promise<void> {
    const refusal = { event, reason, answer }
    this.#settled.refusals.push(refusal)
    if ((await this.#deps.tally.refusedOne(refusal)) && this.#doubted === undefined) this.#doubt(answer)
  }

  #doubt(answer: string): void {
    this.#doubted = answer
    const left = this.#open
      .splice(0)
      .reverse()
      .flatMap(({ pieces }) => pieces)
    const step = Math.ceil(left.length / witnesses)
    this.#setAside = left.filter((_, index) => index % step !== 0)
    for (const piece of left.filter((_, index) => index % step === 0).reverse())
      this.#open.push({ pieces: [piece], again: 0 })
  }

  #halve({ pieces }: Part): void {
    const middle = Math.ceil(pieces.length / 2)
    this.#open.push({ pieces: pieces.slice(middle), again: 0 }, { pieces: pieces.slice(0, middle), again: 0 })
  }

  async #sortOut(part: Part, outcomes: readonly Outcome[], text: string, signal: AbortSignal): Promise<void> {
    // An answer with too few outcomes says nothing about the remaining events.
    const outcomeOf = (index: number) => outcomes[index] ?? 'retry'
    this.#take(part.pieces.filter((_, index) => outcomeOf(index) === 'accepted'))
    const back = part.pieces.filter((_, index) => outcomeOf(index) === 'retry')
    for (const [index, piece] of part.pieces.entries()) {
      const outcome = outcomeOf(index)
      if (typeof outcome === 'object') await this.#refuse(piece, outcome.refused, outcome.answer)
    }
    if (back.length === 0) return
    const { what, pause } = this.#deps
    if (part.again + 1 >= maxAgain)
      throw new Failure(
        'retry',
        'server_error',
        `${what} did not take ${back.length} events${excerptOf(text)}`,
      )
    await pause(part.again, signal)
    this.#open.push({ pieces: back, again: part.again + 1 })
  }
}
