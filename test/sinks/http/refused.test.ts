import { describe, expect, it } from 'vitest'
import { buildEvents } from '../../formats/events.ts'
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
