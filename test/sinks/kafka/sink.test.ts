import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Day } from '../../../src/domain/day.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import { createKafkaSink } from '../../../src/sinks/kafka/sink.ts'
import { buildEvents } from '../../formats/events.ts'
import { waitFor } from '../../setup/wait-for.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** Accepts connections and never answers. */
async function mute() {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    sockets.add(socket)
    socket.resume()
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => new Promise((resolve) => server.close(resolve)))
  ends.push(async () => sockets.forEach((socket) => socket.destroy()))
  const { port } = server.address() as AddressInfo
  return { port, open: () => sockets.size, accepted: () => accepted }
}

function sinkTo(port: number, timeoutSeconds: number) {
  const sink = createKafkaSink(
    {
      name: 'bus',
      brokers: [`127.0.0.1:${port}`],
      topic: 'waf',
      compression: 'none',
      timestamp: 'event',
      timeoutSeconds,
      batch: { maxEvents: 1000, maxBytes: 900_000 },
    },
    { format: createNativeFormat(), clock: systemClock, random: () => 0 },
  )
  ends.push(() => sink.close())
  return sink
}

async function deliver(sink: ReturnType<typeof sinkTo>, signal: AbortSignal) {
  const stream = await sink.open({ zone: 101, day: '2025-11-20' as Day, sink: 'bus' }, {}, signal)
  return stream.deliver(buildEvents(2), signal)
}

test('an abort ends a delivery within 5 s while the broker hangs, and closes its connections', async () => {
  const broker = await mute()
  const aborted = new AbortController()
  const delivered = deliver(sinkTo(broker.port, 600), aborted.signal).catch((error: unknown) => error)
  await waitFor(() => broker.open() > 0, { what: () => 'a connection' })
  const sinceMs = performance.now()
  aborted.abort()
  expect(await delivered).toMatchObject({ kind: 'cancelled' })
  expect(performance.now() - sinceMs).toBeLessThan(5_000)
  await waitFor(() => broker.open() === 0, { what: () => 'closed connections' })
})

test('a broker that hangs is a timeout that is tried again, and each try leaves no connection', async () => {
  const broker = await mute()
  const sink = sinkTo(broker.port, 0.5)
  for (let nth = 0; nth < 3; nth++) {
    const delivered = deliver(sink, new AbortController().signal)
    await expect(delivered).rejects.toMatchObject({ kind: 'retry', code: 'timeout' })
    await waitFor(() => broker.open() === 0, { what: () => 'closed connections' })
  }
})
