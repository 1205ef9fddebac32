import { expect, test } from 'vitest'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { buildEvent } from '../../../formats/events.ts'
import { answerWith, deliver, serve, ship } from '../destination-server.ts'

test('events of streams that Loki has are delivered while it takes no further one, and its words are shown', async () => {
  const full = 'maximum active stream limit exceeded when trying to create stream {hour="2025-11-20T11"}'
  const server = await serve(({ text }, response) =>
    answerWith(
      response,
      text.includes('"hour":"2025-11-20T11"') ? { status: 429, body: full } : { status: 204 },
    ),
  )
  const loki = HttpSinkConfig.parse({
    type: 'http',
    preset: 'loki',
    url: server.url,
    batch: { maxAgeHours: 800_000 },
  })
  const { sink } = ship(server.url, { ...loki })
  const at = (id: string, time: string) => buildEvent({ id, time, timeMs: Date.parse(time) })
  const old = ['a', 'b', 'c'].map((id) => at(id, '2025-11-20T10:00:00.000Z'))
  const { refusals, partial } = await deliver(sink, [
    old[0]!,
    at('x', '2025-11-20T11:00:00.000Z'),
    old[1]!,
    old[2]!,
  ])
  expect(refusals).toEqual([])
  expect(partial!.taken).toEqual(expect.arrayContaining([old[0]]))
  expect(partial!.failure).toMatchObject({
    code: 'throttled',
    message: expect.stringContaining(full) as string,
  })
})
