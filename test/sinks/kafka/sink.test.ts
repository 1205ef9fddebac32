import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { Day } from '../../../src/domain/day.ts'
import type { Sink } from '../../../src/ports/delivery.ts'
import { buildEvents } from '../../formats/events.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { kafkaSink } from './kafka-sink.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** Accepts connections and never answers. */
async function mute() {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.resume()
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => new Promise((resolve) => server.close(resolve)))
  ends.push(async () => sockets.forEach((socket) => socket.destroy()))
  const { port } = server.address() as AddressInfo
  return { settings: { brokers: [`127.0.0.1:${port}`], topic: 'waf' }, open: () => sockets.size }
}

async function deliver(sink: Sink, signal: AbortSignal) {
  const stream = await sink.open({ zone: 101, day: '2025-11-20' as Day, sink: 'bus' }, {}, signal)
  return stream.deliver(buildEvents(2), signal)
}

test('an abort ends a delivery within 5 s while the broker hangs, and closes its connections', async () => {
  const broker = await mute()
  const aborted = new AbortController()
  const delivered = deliver(kafkaSink({ ...broker.settings, timeoutSeconds: 600 }), aborted.signal).catch(
    (error: unknown) => error,
  )
  await waitFor(() => broker.open() > 0, { what: () => 'a connection' })
  const sinceMs = performance.now()
  aborted.abort()
  expect(await delivered).toMatchObject({ kind: 'cancelled' })
  expect(performance.now() - sinceMs).toBeLessThan(5_000)
  await waitFor(() => broker.open() === 0, { what: () => 'closed connections' })
})

test('a broker that hangs is a timeout that is tried again, and each try leaves no connection', async () => {
  const broker = await mute()
  const sink = kafkaSink({ ...broker.settings, timeoutSeconds: 0.5 })
  for (let nth = 0; nth < 3; nth++) {
    const delivered = deliver(sink, new AbortController().signal)
    await expect(delivered).rejects.toMatchObject({ kind: 'retry', code: 'timeout' })
    await waitFor(() => broker.open() === 0, { what: () => 'closed connections' })
  }
})
