import type { Delivery } from '../../../src/domain/event/delivery.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type { Sink } from '../../../src/ports/delivery.ts'
import { lineOf } from './entry.ts'
import type { Life } from './faults.ts'
import type { RunOptions } from './any-run.ts'

export type ReceiverState = 'up' | 'down' | 'refuses'

/** A model of the destination of an HTTP sink: takes each event at least once, and some events never. */
export class ModelReceiver {
  readonly #received = new Map<string, Set<string>>()
  readonly #state: () => ReceiverState
  readonly #refusesId: (id: string) => boolean
  readonly #options: Pick<RunOptions, 'load' | 'bodyEvents'>

  constructor(
    state: () => ReceiverState,
    refusesId: (id: string) => boolean,
    options: Pick<RunOptions, 'load' | 'bodyEvents'>,
  ) {
    this.#state = state
    this.#refusesId = refusesId
    this.#options = options
  }

  refusesId(id: string): boolean {
    return this.#refusesId(id)
  }

  received(stream: Stream): ReadonlySet<string> {
    return this.#received.get(streamKey(stream)) ?? new Set()
  }

  /** The destination loses a day. */
  lose(stream: Stream): void {
    this.#received.delete(streamKey(stream))
  }

  sink(name: string, life: Life): Sink {
    return {
      name,
      address: 'model',
      load: this.#options.load,
      open: async (stream) => {
        await life.step('before open')
        return {
          deliver: (events, _signal, goesOn) => {
            const { bodyEvents } = this.#options
            const whole = goesOn === true && events.length > bodyEvents
            const sent = whole ? events.length - (events.length % bodyEvents) : events.length
            return this.#deliver(stream, { sent: events.slice(0, sent), isAll: sent === events.length }, life)
          },
          close: async () => undefined,
        }
      },
      check: async () => undefined,
      close: async () => undefined,
    }
  }

  async #deliver(
    stream: Stream,
    { sent: events, isAll }: { sent: readonly Event[]; isAll: boolean },
    life: Life,
  ): Promise<Delivery> {
    await life.step('before send')
    const state = this.#state()
    if (state === 'down') throw new Failure('retry', 'network', 'no route')
    if (state === 'refuses') throw new Failure('stop', 'sink_refuses', 'status 403')
    const key = streamKey(stream)
    const held = this.#received.get(key) ?? new Set()
    this.#received.set(key, held)
    const taken = events.filter(({ id }) => !this.#refusesId(id))
    const half = Math.ceil(taken.length / 2)
    for (const event of taken.slice(0, half)) held.add(lineOf(event))
    await life.step('amid send')
    if (life.chance('sinkFailure')) {
      const failure = new Failure('retry', 'server_error', 'status 503')
      // A sink may know which events it has taken, or not.
      if (half % 2 === 0) throw failure
      return { refusals: [], committed: [], bytes: half, partial: { taken: taken.slice(0, half), failure } }
    }
    for (const event of taken.slice(half)) held.add(lineOf(event))
    await life.step('after send')
    const refused = events.filter(({ id }) => this.#refusesId(id))
    const refusals = refused.map((event) => ({ event, reason: 'refused' as const, answer: 'status 422' }))
    const keptBack = isAll ? {} : { partial: { taken } }
    return { refusals, committed: [], bytes: events.length, ...keptBack }
  }
}
