import { describe, expect, it } from 'vitest'
import { buildEvents } from '../../formats/events.ts'
import { named } from '../internal-events.ts'
import {
  deliver,
  failureOf,
  never,
  openStream,
  reply,
  serve,
  ship,
  type Respond,
} from './destination-server.ts'

describe('refused content', () => {
  const poison =
    (ids: ReadonlySet<string>, status: number, text = ''): Respond =>
    (got, response) =>
      response.writeHead(got.ids.some((id) => ids.has(id)) ? status : 200).end(text)

  it.each([400, 422])('is found among a thousand and named alone (%i)', async (status) => {
    const server = await serve(poison(new Set(['event-617']), status, 'field x is no number'))
    const { sink, internalEvents } = ship(server.url)
    const { refusals } = await deliver(sink, buildEvents(1000))
    expect(refusals).toMatchObject([
      { event: { id: 'event-617' }, reason: 'refused', answer: 'field x is no number' },
    ])
    expect(server.taken().toSorted()).toEqual(
      buildEvents(1000)
        .map(({ id }) => id)
        .filter((id) => id !== 'event-617')
        .toSorted(),
    )
    expect(server.got.length).toBeLessThanOrEqual(21)
    expect(
      named(internalEvents, 'SinkAnswered').filter(({ outcome }) => outcome === 'rejected').length,
    ).toBeLessThanOrEqual(11)
  })

  it.each([1, 7])(
    'counts if the store knows that the sink has accepted an event, also before this process sends one (%i events)',
    async (count) => {
      const server = await serve(reply(400, 'no'))
      const { sink } = ship(server.url)
      expect(await failureOf(deliver(sink, buildEvents(count)))).toMatchObject({ code: 'rejected' })
      const known = await (await openStream(sink, 101, true)).deliver(buildEvents(count), never)
      expect(known.refusals.map(({ event }) => event.id)).toEqual(buildEvents(count).map(({ id }) => id))
      // What is known of one stream says nothing of the others: there the sink is in doubt still.
      expect(await failureOf(deliver(sink, buildEvents(count)))).toMatchObject({ kind: expect.any(String) })
    },
  )

  it('of a single event with 413 needs no other event as evidence', async () => {
    const { sink } = ship((await serve(reply(413))).url)
    expect((await deliver(sink, buildEvents(1))).refusals).toMatchObject([{ reason: 'too_large' }])
    expect(await failureOf(deliver(sink, buildEvents(20)))).toMatchObject({
      kind: 'stop',
      code: 'sink_refuses',
    })
  })

  it('of few events by a sink that accepted none is decided by the next accepted one', async () => {
    const server = await serve(poison(new Set(['bad-0']), 400))
    const { sink } = ship(server.url)
    for (let round = 0; round < 10; round++)
      expect(await failureOf(deliver(sink, buildEvents(1, 'bad')))).toMatchObject({
        kind: 'retry',
        code: 'rejected',
      })
    await deliver(sink, buildEvents(1))
    expect((await deliver(sink, buildEvents(1, 'bad'))).refusals).toMatchObject([{ event: { id: 'bad-0' } }])
  })

  it.each(['in the same process', 'after a restart'])(
    'for every event by a sink that accepted events before is an error of the sink: %s',
    async (when) => {
      let healthy = true
      const server = await serve((_got, response) =>
        response.writeHead(healthy ? 200 : 400).end('misconfigured'),
      )
      const before = ship(server.url).sink
      await deliver(before, buildEvents(1, 'before'))
      healthy = false
      const sink = when === 'after a restart' ? ship(server.url).sink : before
      const open = await openStream(sink, 101, true)
      const events = buildEvents(1000)
      for (let round = 0; round < 5; round++) {
        const failure = await failureOf(open.deliver(events, never))
        expect(failure).toMatchObject({ kind: 'retry', code: 'rejected' })
        expect(failure.message).toContain('accepts no event any more (misconfigured)')
      }
      expect(server.got.length).toBeLessThanOrEqual(1 + 64 + 4 * 4)
      healthy = true
      expect((await open.deliver(events, never)).refusals).toEqual([])
      expect(server.taken().toSorted()).toEqual(['before-0', ...events.map(({ id }) => id)].toSorted())
    },
  )

  it('in small deliveries by a sink that accepted events before is an error of the sink after eight events', async () => {
    const server = await serve(reply(400))
    const { sink } = ship(server.url)
    const open = await openStream(sink, 101, true)
    for (let round = 0; round < 7; round++)
      expect((await open.deliver(buildEvents(1, `round-${round}`), never)).refusals).toHaveLength(1)
    for (let round = 7; round < 10; round++)
      expect(await failureOf(open.deliver(buildEvents(1, `round-${round}`), never))).toMatchObject({
        code: 'rejected',
      })
  })
})
