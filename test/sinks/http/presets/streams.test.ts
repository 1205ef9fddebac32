import { expect, test } from 'vitest'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { buildEvent } from '../../../formats/events.ts'
import { answerWith, deliver, serve, ship } from '../destination-server.ts'

const full = 'maximum active stream limit exceeded when trying to create stream {hour="2025-11-20T11"}'

interface Pushed {
  readonly stream: { readonly hour: string }
  readonly values: readonly (readonly [string, string])[]
}

/** As an ingester does: it tries each stream of a body, and answers as for the last one. It takes none of 11 o'clock. */
async function lokiThatIsFull() {
  const stored: string[] = []
  const server = await serve(({ text }, response) => {
    const { streams } = JSON.parse(text) as { readonly streams: readonly Pushed[] }
    const isTaken = ({ stream }: Pushed) => stream.hour !== '2025-11-20T11'
    for (const { values } of streams.filter(isTaken))
      stored.push(...values.map(([, line]) => (JSON.parse(line) as { id: string }).id))
    answerWith(response, isTaken(streams.at(-1)!) ? { status: 204 } : { status: 429, body: full })
  })
  const batch = { maxAgeHours: 800_000 }
  const settings = { type: 'http', preset: 'loki', url: server.url, compression: 'none', batch }
  return { stored, sink: ship(server.url, { ...HttpSinkConfig.parse(settings) }).sink }
}

const at = (time: string) => {
  const whole = `2025-11-20T${time}:00.000Z`
  return buildEvent({ id: time, time: whole, timeMs: Date.parse(whole) })
}

test('a stream that Loki does not take is not hidden by another one, and its words are shown', async () => {
  const { stored, sink } = await lokiThatIsFull()
  const { refusals, partial } = await deliver(sink, ['10:00', '11:00', '09:00', '11:10', '10:10'].map(at))
  expect(refusals).toEqual([])
  expect(stored.toSorted()).toEqual(partial!.taken.map(({ id }) => id).toSorted())
  expect(stored.length).toBeGreaterThan(0)
  expect(partial!.failure).toMatchObject({
    code: 'throttled',
    message: expect.stringContaining(full) as string,
  })
})

test('events of a stream that Loki has are delivered in one body, whatever is between them', async () => {
  const { stored, sink } = await lokiThatIsFull()
  await deliver(sink, ['09:00', '10:00', '09:10', '10:10', '09:20'].map(at))
  expect(stored).toEqual(['09:00', '09:10', '09:20', '10:00', '10:10'])
})
