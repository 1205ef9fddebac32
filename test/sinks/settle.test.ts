import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Failure } from '../../src/domain/failure.ts'
import { type EventOutcome, isTaken, type Sent, Settlement, Tally } from '../../src/sinks/settle.ts'
import { buildStream } from '../contract/checkpoint-store/builders.ts'
import { buildEvents } from '../formats/events.ts'
import { never } from './http/destination-server.ts'

const pieces = buildEvents(300).map((event) => ({ event, bytes: 1 }))
const idsOf = (batch: typeof pieces) => batch.map(({ event }) => event.id)
const eventOf = new Map(pieces.map(({ event }) => [event.id, event]))

const refuse: Sent = { kind: 'split', reason: 'refused', said: 'no' }
const accept: Sent = { kind: 'delivered' }

const newTally = (hasTaken = false) => ({
  stream: buildStream(),
  tally: new Tally(),
  hasTaken: () => Promise.resolve(hasTaken),
  refusalsStand: false,
})

function outcomesOf(ids: readonly string[], outcomeOf: (id: string) => EventOutcome) {
  const outcomes = new Map(ids.map((id) => [eventOf.get(id)!, outcomeOf(id)]))
  return { kind: 'each', said: '', outcomes } as const
}

/** Settles a batch with a destination that answers so, and tells what came of it. */
async function settle(
  batch: typeof pieces,
  answer: (ids: string[], request: number) => Sent,
  evidence = newTally(),
  more: { readonly skipsTooOld?: boolean } = {},
) {
  const taken: string[] = []
  let requests = 0
  const slept: number[] = []
  const sender = {
    what: 'sink x',
    remedy: 'check it',
    ...more,
    mask: (text: string) => text,
    send(part: typeof pieces) {
      const ids = idsOf(part)
      const sent = answer(ids, requests++)
      if (sent.kind === 'delivered') taken.push(...ids)
      if (sent.kind === 'each')
        taken.push(...ids.filter((id) => isTaken(sent.outcomes.get(eventOf.get(id)!))))
      return Promise.resolve(sent)
    },
  }
  const clock = { ...systemClock, sleep: (ms: number) => Promise.resolve(void slept.push(ms)) }
  const settled = new Settlement({ ...evidence, clock, to: sender, signal: never })
  const failure = await settled.settle(batch).then(
    () => undefined,
    (error: unknown) => error as Failure,
  )
  const refusals = [...settled.refusals, ...settled.skipped]
  return {
    settled,
    taken,
    kept: settled.taken.map(({ id }) => id),
    refusals,
    refused: refusals.map(({ event }) => event.id),
    requests,
    slept,
    failure,
  }
}

describe('a batch', () => {
  it('is accepted or refused event by event, for any invalid events, in a bounded number of requests', async () => {
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
        const result = await settle(batch, (ids) => (ids.some((id) => wrong.has(id)) ? refuse : accept))
        const good = idsOf(batch).filter((id) => !wrong.has(id))
        expect(result.taken.toSorted()).toEqual(good.toSorted())
        expect(result.kept).toEqual(result.taken)
        expect(result.requests).toBeLessThanOrEqual(2 * count + 32)
        expect(result.requests).toBeLessThanOrEqual(1 + 2 * wrong.size * Math.ceil(Math.log2(count) + 1) + 64)
        if (good.length === 0) expect(result.requests).toBeLessThanOrEqual(64)
        if (good.length === 0 && wrong.size >= 8) {
          expect(result.failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
        } else {
          expect(result.failure).toBeUndefined()
          expect(result.refused.toSorted()).toEqual([...wrong].toSorted())
        }
      }),
      { numRuns: 300 },
    )
  })

  describe('of which a destination that accepted events before refuses every event', () => {
    const refuseAll = () => refuse

    it('is the fault of the sink: it backs off, and the next tries are of a few events, others each time', async () => {
      const tally = newTally(true)
      const first = await settle(pieces, refuseAll, tally)
      expect(first.failure).toMatchObject({ kind: 'retry', code: 'rejected' })
      expect(first.refusals).toEqual([])
      expect(first.requests).toBeLessThanOrEqual(64)
      const tried = new Set<string>()
      for (let round = 0; round < pieces.length / 4; round++) {
        const again = await settle(pieces, (ids) => (tried.add(ids.join()), refuse), tally)
        expect(again).toMatchObject({ failure: { code: 'rejected' }, refusals: [], requests: 4 })
      }
      expect(tried.size).toBe(pieces.length)
    })

    it('is delivered whole once the destination accepts events again', async () => {
      const tally = newTally(true)
      await settle(pieces, refuseAll, tally)
      const result = await settle(pieces, () => accept, tally)
      expect(result).toMatchObject({ failure: undefined, refusals: [], requests: 5 })
      expect(result.kept.toSorted()).toEqual(idsOf(pieces).toSorted())
    })

    it('is no fault of the sink as soon as one event of it is accepted: the others are refused', async () => {
      const tally = newTally(true)
      await settle(pieces, refuseAll, tally)
      const result = await settle(pieces, (ids) => (ids.join() === 'event-1' ? accept : refuse), tally)
      expect(result).toMatchObject({ failure: undefined, kept: ['event-1'] })
      expect(result.refusals).toHaveLength(pieces.length - 1)
    })

    it('is the fault of its events where events of others are accepted between several tries', async () => {
      const tally = newTally(true)
      for (let round = 0; round < 3; round++) {
        expect(await settle(pieces, refuseAll, tally)).toMatchObject({ failure: { code: 'rejected' } })
        tally.tally.tookOne('good')
      }
      const last = await settle(pieces, refuseAll, tally)
      expect(last).toMatchObject({ failure: undefined, refusals: { length: pieces.length } })
      // The next batch of the stream is looked at anew.
      expect(await settle(pieces, refuseAll, tally)).toMatchObject({ failure: { code: 'rejected' } })
    })

    it('is refused at once where a refusal needs no evidence, as in a replay', async () => {
      const result = await settle(pieces, refuseAll, { ...newTally(true), refusalsStand: true })
      expect(result.failure).toBeUndefined()
      expect(result.refusals).toHaveLength(pieces.length)
    })

    it('is settled in one try where its events are too old by the time the destination reads them again', async () => {
      const tally = newTally(true)
      await settle(pieces, refuseAll, tally)
      const old = await settle(pieces, () => ({ kind: 'split', reason: 'too_old', said: 'old' }), tally)
      expect(old.failure).toBeUndefined()
      expect(old.refusals).toHaveLength(pieces.length)
    })

    it('is counted and kept nowhere where its events are too old for a destination that says so', async () => {
      const old: Sent = { kind: 'split', reason: 'too_old', said: 'old' }
      const { settled, failure } = await settle(pieces.slice(0, 5), () => old, newTally(), {
        skipsTooOld: true,
      })
      expect(failure).toBeUndefined()
      expect(settled).toMatchObject({ refusals: [], skipped: { length: 5 } })
      expect(settled.skipped[0]).toMatchObject({ reason: 'too_old', answer: 'old' })
    })

    it('is tried by samples too where the destination stops reading at each refused event', async () => {
      const result = await settle(
        pieces,
        (ids) => outcomesOf(ids, (id) => (id === ids[0] ? { refused: 'refused', answer: 'no' } : 'unsent')),
        newTally(true),
      )
      expect(result).toMatchObject({ failure: { code: 'rejected' }, refusals: [] })
      expect(result.requests).toBeLessThanOrEqual(40)
    })
  })

  it('is settled event by event if the destination answers so', async () => {
    const result = await settle(pieces.slice(0, 6), (ids) =>
      outcomesOf(ids.toReversed(), (id) => {
        if (id === 'event-2') return { refused: 'refused', answer: 'mapper_parsing_exception' }
        return id === 'event-4' && ids.length > 1 ? { retry: 'busy' } : 'delivered'
      }),
    )
    expect(result).toMatchObject({ failure: undefined, requests: 2, slept: [expect.any(Number)] })
    expect(result.taken).toEqual(['event-0', 'event-1', 'event-3', 'event-5', 'event-4'])
    expect(result.refusals).toMatchObject([{ event: { id: 'event-2' }, answer: 'mapper_parsing_exception' }])
  })

  it('fails for the pump if the destination keeps returning events', async () => {
    const result = await settle(pieces.slice(0, 3), (ids) => ({
      // Too short an answer says nothing of the rest.
      ...outcomesOf(ids.slice(0, ids.length === 3 ? 1 : 0), () => 'delivered'),
    }))
    expect(result).toMatchObject({ requests: 3, failure: { kind: 'retry', code: 'server_error' } })
    expect(result.taken).toEqual(['event-0'])
    expect(result.kept).toEqual(['event-0'])
  })

  it('is sent again at once from the event at which the destination stopped reading', async () => {
    const wrong = new Set(['event-1', 'event-2', 'event-4', 'event-5', 'event-7'])
    const result = await settle(pieces.slice(0, 9), (ids) => {
      const stopped = ids.findIndex((id) => wrong.has(id))
      if (stopped === -1) return accept
      return outcomesOf(ids, (id) => {
        const index = ids.indexOf(id)
        if (index === stopped) return { refused: 'refused', answer: 'no' }
        return index < stopped ? 'delivered' : 'unsent'
      })
    })
    expect(result).toMatchObject({ failure: undefined, requests: 6, slept: [] })
    expect(result.taken).toEqual(['event-0', 'event-3', 'event-6', 'event-8'])
    expect(result.refused).toEqual([...wrong])
  })

  it('makes an event a dead letter that is returned three times, if the preset says so', async () => {
    const returned = (refuseAfter?: true) =>
      settle(pieces.slice(0, 4), (ids) =>
        outcomesOf(ids, (id) =>
          id === 'event-1' ? { retry: 'pipeline broke', ...(refuseAfter && { refuseAfter }) } : 'delivered',
        ),
      )
    const bounded = await returned(true)
    expect(bounded).toMatchObject({ requests: 3, failure: undefined })
    expect(bounded.refusals).toMatchObject([{ event: { id: 'event-1' }, answer: 'pipeline broke' }])
    expect(await returned()).toMatchObject({ failure: { kind: 'retry' }, refusals: [] })
  })

  it('makes an event that is alone a dead letter, where it is not accepted after pauses that give it room', async () => {
    const result = await settle(pieces.slice(1, 2), (ids) =>
      outcomesOf(ids, () => ({ retry: 'no room', pauseMs: 4_000 })),
    )
    expect(result).toMatchObject({ requests: 3, failure: undefined, slept: [4_000, 4_000] })
    expect(result.refusals).toMatchObject([
      { event: { id: 'event-1' }, reason: 'refused', answer: 'no room' },
    ])
  })

  it('keeps accepted events delivered if the rest has an error of the sink', async () => {
    const result = await settle(pieces.slice(0, 4), (ids) => ({
      ...outcomesOf(ids.slice(0, 2), () => 'duplicate'),
      failure: new Failure('stop', 'sink_refuses', 'no rights'),
    }))
    expect(result).toMatchObject({ requests: 1, failure: { code: 'sink_refuses' }, refusals: [] })
    expect(result.kept).toEqual(['event-0', 'event-1'])
  })

  describe('that the destination leaves unexplained', () => {
    const failure = new Failure('retry', 'server_error', 'sink x answered 500')
    const unexplained = { kind: 'unexplained', failure } as const

    it('is halved if it is too large, as soon as a single event is accepted', async () => {
      const batch = pieces.slice(0, 100)
      const result = await settle(batch, (ids) => (ids.length > 30 ? unexplained : accept))
      expect(result).toMatchObject({ failure: undefined, refusals: [] })
      expect(result.taken.toSorted()).toEqual(idsOf(batch).toSorted())
      expect(result.requests).toBeLessThan(16)
    })

    it.each([[['event-0']], [['event-57']], [['event-99', 'event-49']]])(
      'loses only the events that break the destination: %j',
      async (breaking) => {
        const result = await settle(pieces.slice(0, 100), (ids) =>
          ids.some((id) => breaking.includes(id)) ? unexplained : accept,
        )
        expect(result.failure).toBeUndefined()
        expect(result.refused.toSorted()).toEqual(breaking.toSorted())
        expect(result.refusals[0]).toMatchObject({ reason: 'refused' })
        expect(result.refusals[0]!.answer).toContain('answered 500')
        expect(result.taken).toHaveLength(100 - breaking.length)
      },
    )

    it('fails for the pump after two single events without a clear answer', async () => {
      const result = await settle(pieces.slice(0, 100), () => unexplained)
      expect(result).toMatchObject({ failure, requests: 3, refusals: [] })
      const alone = await settle(pieces.slice(0, 1), () => unexplained)
      expect(alone).toMatchObject({ failure, requests: 1, refusals: [] })
    })

    it('fails for the pump if the destination fails in the middle', async () => {
      const result = await settle(pieces.slice(0, 100), (ids, request) =>
        request < 4 && ids.length <= 30 ? accept : unexplained,
      )
      expect(result).toMatchObject({ failure, refusals: [] })
      expect(result.requests).toBeLessThan(12)
    })
  })
})
