import type { Refusal, RefusalReason } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import type { Outcome, Piece } from './presets/preset.ts'
import { excerptOf } from './failures.ts'
import type { Send, Sent } from './send.ts'
import type { Tally } from './tally.ts'

/** A part of a batch that is still to be sent; `again` counts how often the destination gave it back. */
interface Part {
  readonly pieces: readonly Piece[]
  readonly again: number
}

/** What became of the events of a delivery so far. It stands also where the rest of the delivery fails. */
export interface Settled {
  readonly taken: Event[]
  readonly refusals: Refusal[]
  /** Of the events that were taken. */
  bytes: number
}

export interface SettleDeps {
  /** How failures name the sink. */
  readonly what: string
  readonly send: Send
  readonly tally: Tally
  /** Waits before a part that the destination gave back is sent once more. */
  readonly pause: (again: number, signal: AbortSignal) => Promise<void>
}

const maxAgain = 3
/** How many events speak for a sink in doubt. */
const witnesses = 32

/**
 * Sends a batch until each of its events is taken or refused. A refused batch is halved, the first half first: one
 * bad event among n costs about 2 log2 n requests, and n bad ones never more than 2n - 1.
 *
 * Refusals count only for a sink that has taken an event at some time. When 8 in a row were refused by one that never
 * has, up to 32 others from all over the batch are sent alone: if none of them is taken either, the error is the sink's
 * and nothing is refused. Without these witnesses whoever can make 8 bad events in a row could stop a stream.
 * Throws Failure like `Send`, and `sink_refuses` (stop).
 */
export async function settleBatch(
  batch: readonly Piece[],
  { what, send, tally, pause }: SettleDeps,
  settled: Settled,
  signal: AbortSignal,
): Promise<void> {
  const open: Part[] = [{ pieces: batch, again: 0 }]
  let setAside: readonly Piece[] = []
  let doubted: string | undefined

  function take(pieces: readonly Piece[]): void {
    if (pieces.length > 0) tally.tookOne()
    for (const { event, bytes } of pieces) {
      settled.taken.push(event)
      settled.bytes += bytes
    }
  }

  async function refuse({ event }: Piece, reason: RefusalReason, answer: string): Promise<void> {
    const refusal = { event, reason, answer }
    settled.refusals.push(refusal)
    if ((await tally.refusedOne(refusal)) && doubted === undefined) doubt(answer)
  }

  function doubt(answer: string): void {
    doubted = answer
    const left = open
      .splice(0)
      .reverse()
      .flatMap(({ pieces }) => pieces)
    const step = Math.ceil(left.length / witnesses)
    setAside = left.filter((_, index) => index % step !== 0)
    for (const piece of left.filter((_, index) => index % step === 0).reverse())
      open.push({ pieces: [piece], again: 0 })
  }

  /** An event that was taken, by whichever stream, settles the doubt: what was set aside goes on after the rest. */
  function next(): Part | undefined {
    if (doubted !== undefined && tally.everTaken) {
      doubted = undefined
      if (setAside.length > 0) open.unshift({ pieces: setAside, again: 0 })
    }
    return open.pop()
  }

  function halve(part: Part): void {
    const middle = Math.ceil(part.pieces.length / 2)
    open.push(
      { pieces: part.pieces.slice(middle), again: 0 },
      { pieces: part.pieces.slice(0, middle), again: 0 },
    )
  }

  async function sortOut(part: Part, outcomes: readonly Outcome[], text: string): Promise<void> {
    // An answer that is too short says nothing of the rest.
    const outcomeOf = (index: number) => outcomes[index] ?? 'retry'
    take(part.pieces.filter((_, index) => outcomeOf(index) === 'accepted'))
    const back = part.pieces.filter((_, index) => outcomeOf(index) === 'retry')
    for (const [index, piece] of part.pieces.entries()) {
      const outcome = outcomeOf(index)
      if (typeof outcome === 'object') await refuse(piece, outcome.refused, outcome.answer)
    }
    if (back.length === 0) return
    if (part.again + 1 >= maxAgain)
      throw new Failure(
        'retry',
        'server_error',
        `${what} did not take ${back.length} events${excerptOf(text)}`,
      )
    await pause(part.again, signal)
    open.push({ pieces: back, again: part.again + 1 })
  }

  async function apply(part: Part, sent: Sent): Promise<void> {
    if (sent.kind === 'accepted') take(part.pieces)
    else if (sent.kind === 'each') await sortOut(part, sent.outcomes, sent.text)
    else if (part.pieces.length === 1) await refuse(part.pieces[0]!, sent.reason, sent.text)
    else halve(part)
  }

  for (let part = next(); part !== undefined; part = next())
    await apply(part, await send(part.pieces, signal))
  if (doubted === undefined) return
  throw new Failure(
    'stop',
    'sink_refuses',
    `${what} refuses every event and has taken none yet${excerptOf(doubted)}: check preset, format and url`,
  )
}
