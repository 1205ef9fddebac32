import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Refusal } from '../../../src/domain/event/delivery.ts'
import type { Piece } from '../../../src/sinks/http/presets/preset.ts'
import type { Send } from '../../../src/sinks/http/send.ts'
import { settleBatch, type Settled } from '../../../src/sinks/http/settle-batch.ts'
import { createTally } from '../../../src/sinks/http/tally.ts'
import { buildEvents } from '../../formats/events.ts'
import { failureOf, never } from './far-side.ts'

const pieces: readonly Piece[] = buildEvents(300).map((event) => ({ event, text: event.id, bytes: 1 }))

interface Result {
  readonly taken: string[]
  readonly kept: string[]
  readonly refusals: Refusal[]
  readonly requests: number
  readonly pauses: number
  readonly failure?: unknown
}

async function settle(
  batch: readonly Piece[],
  answer: (ids: string[], request: number) => Awaited<ReturnType<Send>>,
) {
  const taken: string[] = []
  const settled: Settled = { taken: [], refusals: [], bytes: 0 }
  let requests = 0
  let pauses = 0
  const send: Send = (part) => {
    const ids = part.map(({ event }) => event.id)
    const sent = answer(ids, requests++)
    if (sent.kind === 'accepted') taken.push(...ids)
    if (sent.kind === 'each') taken.push(...ids.filter((_, index) => sent.outcomes[index] === 'accepted'))
    return Promise.resolve(sent)
  }
  const deps = { what: 'sink x', send, tally: createTally(), pause: () => Promise.resolve(void pauses++) }
  const failure = await settleBatch(batch, deps, settled, never).then(
    () => undefined,
    (error: unknown) => error,
  )
  const kept = settled.taken.map(({ id }) => id)
  return { taken, kept, refusals: settled.refusals, requests, pauses, failure } satisfies Result
}

describe('a batch', () => {
  it('is taken or refused event by event, whichever are bad, in a bounded number of requests', async () => {
    const sets = fc.record({
      count: fc.integer({ min: 1, max: 300 }),
      bad: fc.oneof(
        fc.uniqueArray(fc.nat(299), { maxLength: 12 }),
        fc
          .record({ from: fc.nat(250), length: fc.nat(60) })
          .map(({ from, length }) => Array.from({ length }, (_, index) => from + index)),
      ),
    })
    await fc.assert(
      fc.asyncProperty(sets, async ({ count, bad }) => {
        const batch = pieces.slice(0, count)
        const wrong = new Set(bad.filter((index) => index < count).map((index) => `event-${index}`))
        const result = await settle(batch, (ids) =>
          ids.some((id) => wrong.has(id))
            ? { kind: 'split', reason: 'refused', text: 'no' }
            : { kind: 'accepted', text: 'ok' },
        )
        const good = batch.map(({ event }) => event.id).filter((id) => !wrong.has(id))
        expect(result.taken.toSorted()).toEqual(good.toSorted())
        expect(result.kept).toEqual(result.taken)
        expect(result.requests).toBeLessThanOrEqual(2 * count + 32)
        expect(result.requests).toBeLessThanOrEqual(1 + 2 * wrong.size * Math.ceil(Math.log2(count) + 1) + 64)
        if (good.length === 0) expect(result.requests).toBeLessThanOrEqual(64)
        if (good.length === 0 && wrong.size >= 8) {
          expect(result.failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
        } else {
          expect(result.failure).toBeUndefined()
          expect(result.refusals.map(({ event }) => event.id).toSorted()).toEqual([...wrong].toSorted())
        }
      }),
      { numRuns: 300 },
    )
  })

  it('is read event by event where the destination answers so', async () => {
    const result = await settle(pieces.slice(0, 6), (ids) => ({
      kind: 'each',
      text: '',
      outcomes: ids.map((id) => {
        if (id === 'event-2') return { refused: 'refused', answer: 'mapper_parsing_exception' }
        return id === 'event-4' && ids.length > 1 ? 'retry' : 'accepted'
      }),
    }))
    expect(result).toMatchObject({ failure: undefined, requests: 2, pauses: 1 })
    expect(result.taken).toEqual(['event-0', 'event-1', 'event-3', 'event-5', 'event-4'])
    expect(result.refusals).toMatchObject([{ event: { id: 'event-2' }, answer: 'mapper_parsing_exception' }])
  })

  it('is left to the pump where the destination keeps giving events back', async () => {
    const result = await settle(pieces.slice(0, 3), (ids) => ({
      kind: 'each',
      text: 'queue full',
      // Too short an answer says nothing of the rest.
      outcomes: ids.length === 3 ? ['accepted'] : ['retry'],
    }))
    expect(result).toMatchObject({ requests: 3, failure: { kind: 'retry', code: 'server_error' } })
    expect(result.taken).toEqual(['event-0'])
    expect(result.kept).toEqual(['event-0'])
  })

  it('of which every event is refused by name is a fault of the sink', async () => {
    const result = await settle(pieces.slice(0, 50), (ids) => ({
      kind: 'each',
      text: '',
      outcomes: ids.map(() => ({ refused: 'refused' as const, answer: 'index_not_found' })),
    }))
    expect(result).toMatchObject({ requests: 1, failure: { kind: 'stop', code: 'sink_refuses' } })
  })

  it('passes on what the sender throws', async () => {
    const send: Send = () => Promise.reject(new Error('a bug'))
    const deps = { what: 'x', send, tally: createTally(), pause: () => Promise.resolve() }
    expect(
      await failureOf(settleBatch(pieces.slice(0, 2), deps, { taken: [], refusals: [], bytes: 0 }, never)),
    ).toMatchObject({
      message: 'a bug',
    })
  })
})
