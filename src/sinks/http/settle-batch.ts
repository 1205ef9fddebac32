import type { Refusal, RefusalReason, Skip, SkipReason } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import { isTaken } from './exchange.ts'
import { excerptOf, waitUntil } from './failures.ts'
import { Open, type Part } from './open-parts.ts'
import type { Piece } from './pieces.ts'
import type { EventOutcome } from './protocol/preset.ts'
import { maxRestMs, type Send, type Sent } from './send.ts'
import type { Tally } from './tally.ts'

/** Results of a delivery so far. They remain valid when the rest of the delivery fails. */
export interface Settled {
  readonly taken: Event[]
  readonly refusals: (Refusal | Skip)[]
  /** Bytes of the accepted events. */
  bytes: number
}

export interface SettleDeps {
  /** How failures name the sink. */
  readonly what: string
  readonly send: Send
  readonly tally: Tally
  readonly clock: Clock
  /** Waits before events that the destination returned are sent again. */
  readonly pause: (again: number, signal: AbortSignal) => Promise<void>
  /** Reports events that the destination dropped without saying which. */
  readonly lost: (count: number, answer: string) => void
}

const maxAgain = 3
/** With more events than these without a clear answer the destination counts as the cause, not the events. */
const maxSuspects = 8

/**
 * Sends a batch until each of its events is taken or refused. A refused batch is halved, the first half first: one bad
 * event among n costs about 2 log2 n requests, and n bad ones never more than 2n - 1.
 *
 * A refusal counts only for a sink that has taken an event at some time. When one that never has refuses 8 in a row, up
 * to 32 others from the whole batch are sent alone: if it takes none of them, the error is the sink's and nothing is
 * refused. Without these samples an attacker could stop a stream with 8 bad events in a row.
 *
 * A batch to which the destination answers only 500, or nothing, may be too large, or hold one event that breaks the
 * destination. Single events of it are tried: if one is taken, the batch is halved, and what is still not taken when
 * everything else was counts as refused. If two are not taken, the destination is in trouble, and nothing is refused.
 *
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
  readonly #open: Open
  /** Events that got no clear answer when sent alone; tried once more after all others. */
  #suspects: Piece[] = []
  /** Single events without a clear answer in a row, with no event accepted since. */
  #silent = 0
  #hasTaken = false
  /** The answer of the destination that put the sink in doubt. */
  #doubted: string | undefined

  constructor(batch: readonly Piece[], deps: SettleDeps, settled: Settled) {
    this.#deps = deps
    this.#settled = settled
    this.#open = new Open(batch)
  }

  async settle(signal: AbortSignal): Promise<void> {
    const { send, what } = this.#deps
    for (let part = this.#next(); part !== undefined; part = this.#next())
      await this.#apply(part, await send(part.pieces, signal, part.tries), signal)
    if (this.#doubted === undefined) return
    throw new Failure(
      'stop',
      'sink_refuses',
      `${what} refuses every event and has accepted none yet${excerptOf(this.#doubted)}: check preset, format and url`,
    )
  }

  /** An accepted event, from any stream, ends the doubt: the events set aside are sent after the rest. */
  #next(): Part | undefined {
    if (this.#doubted !== undefined && this.#deps.tally.everTaken) {
      this.#doubted = undefined
      this.#open.bringBack()
    }
    const next = this.#open.next()
    if (next !== undefined || this.#suspects.length === 0) return next
    const [suspect, ...rest] = this.#suspects
    this.#suspects = rest
    return { pieces: [suspect!], again: 0, isLastTry: true }
  }

  async #apply(part: Part, sent: Sent, signal: AbortSignal): Promise<void> {
    if (sent.kind === 'delivered') this.#takeAll(part, sent)
    else if (sent.kind === 'each') await this.#sortOut(part, sent, signal)
    else if (sent.kind === 'unexplained') await this.#isolate(part, sent.failure)
    else if (part.pieces.length === 1) await this.#refuse(part.pieces[0]!, sent.reason, sent.text)
    else this.#open.halve(part)
  }

  #takeAll({ pieces }: Part, { lost }: Sent & { kind: 'delivered' }): void {
    this.#take(pieces)
    if (lost !== undefined) this.#deps.lost(lost.count, lost.answer)
  }

  #take(pieces: readonly Piece[]): void {
    if (pieces.length === 0) return
    this.#deps.tally.tookOne()
    this.#hasTaken = true
    this.#silent = 0
    for (const { event, bytes } of pieces) {
      this.#settled.taken.push(event)
      this.#settled.bytes += bytes
    }
  }

  async #refuse({ event }: Piece, reason: RefusalReason | SkipReason, answer: string): Promise<void> {
    this.#settled.refusals.push({ event, reason, answer })
    // The age is a property of the event, and no evidence about the sink.
    if (reason === 'too_old' || !(await this.#deps.tally.refusedOne({ event, reason, answer }))) return
    if (this.#doubted !== undefined) return
    this.#doubted = answer
    this.#open.sample()
  }

  async #isolate(part: Part, failure: Failure): Promise<void> {
    const [piece, ...others] = part.pieces
    if (others.length > 0) {
      this.#silent = 0
      this.#open.halve(part)
      this.#open.tryOneAlone()
      return
    }
    if (part.isLastTry === true)
      return this.#refuse(
        piece!,
        'refused',
        `the destination accepted other events of the same body, but not this one: ${failure.message}`,
      )
    this.#suspects.push(piece!)
    this.#silent++
    const isTrouble = this.#silent > 1 || this.#suspects.length > maxSuspects
    if (isTrouble || (!this.#open.tryOneAlone() && !this.#hasTaken)) throw failure
  }

  async #sortOut(part: Part, sent: Sent & { kind: 'each' }, signal: AbortSignal): Promise<void> {
    const outcomeOf = ({ event }: Piece) => sent.outcomes.get(event)
    this.#take(part.pieces.filter((piece) => isTaken(outcomeOf(piece))))
    const back = part.pieces.filter((piece) => isReturned(outcomeOf(piece)))
    const unsent = part.pieces.filter((piece) => outcomeOf(piece) === 'unsent')
    for (const piece of part.pieces) {
      const outcome = outcomeOf(piece)
      if (typeof outcome === 'object' && 'refused' in outcome)
        await this.#refuse(piece, outcome.refused, outcome.answer)
    }
    if (sent.stop !== undefined) throw sent.stop
    this.#open.add({ pieces: unsent, again: part.again })
    if (back.length > 0) await this.#sendAgain({ ...part, pieces: back }, sent, signal)
  }

  async #sendAgain(part: Part, sent: Sent & { kind: 'each' }, signal: AbortSignal): Promise<void> {
    const { what, pause, clock } = this.#deps
    const outcomes = part.pieces.map(({ event }) => sent.outcomes.get(event))
    const retries = outcomes.filter((outcome) => typeof outcome === 'object' && 'retry' in outcome)
    const said = retries[0]?.retry ?? sent.text
    const message = `${what} did not accept ${part.pieces.length} events${excerptOf(said)}`
    const retryAtMs = Math.max(0, ...retries.map((retry) => retry.retryAtMs ?? 0))
    const waitMs = retryAtMs - clock.now()
    if (waitMs > maxRestMs) throw waitUntil(retryAtMs, 'throttled', message)
    if (part.again + 1 < maxAgain) {
      if (waitMs > 0) await clock.sleep(waitMs, signal)
      else await pause(part.again, signal)
      this.#open.add({ pieces: part.pieces, again: part.again + 1 })
      return
    }
    const mayRefuse = this.#hasTaken && retries.length === part.pieces.length
    if (!mayRefuse || retries.some(({ refuseAfter }) => refuseAfter !== true))
      throw new Failure('retry', 'server_error', message)
    for (const [index, piece] of part.pieces.entries())
      await this.#refuse(piece, 'refused', retries[index]!.retry)
  }
}

function isReturned(outcome: EventOutcome | undefined): boolean {
  return outcome === undefined || (typeof outcome === 'object' && 'retry' in outcome)
}
