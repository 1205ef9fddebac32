import { systemClock } from '../../../src/clock.ts'
import type { Sink } from '../../../src/ports/delivery.ts'
import { createSyslogSink } from '../../../src/sinks/syslog/sink.ts'
import { contractFormat, idOf, sinkContract } from '../../contract/sink.contract.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { receiver, textOf } from './receiver.ts'

sinkContract('syslog', { isTransactional: false, canFail: true, canHang: false }, async () => {
  let server = await receiver()
  const { port } = server
  const before: string[] = []
  let delivered = 0
  const plain = createSyslogSink(
    {
      name: 'siem',
      host: '127.0.0.1',
      port,
      protocol: 'tcp',
      hostname: 'shield',
      maxMessageBytes: 65_536,
      timeoutSeconds: 10,
    },
    // Without a back-off: what a failing receiver gets next is the subject.
    { format: contractFormat, clock: systemClock, random: () => 0 },
  )
  const sink: Sink = {
    ...plain,
    async open(...given) {
      const stream = await plain.open(...given)
      return {
        ...stream,
        async deliver(events, signal) {
          const delivery = await stream.deliver(events, signal)
          delivered += delivery.bytes
          return delivery
        },
      }
    },
  }
  return {
    sink,
    async received() {
      // A delivery ends when the operating system has its bytes: the receiver reads them a moment later.
      await waitFor(() => server.bytes() === delivered, { what: 'the receiver' })
      return [...before, ...server.messages].map(textOf).map(idOf)
    },
    async fail() {
      before.push(...server.messages)
      delivered = 0
      await server.close()
      return {
        async repair() {
          server = await receiver({ port })
        },
      }
    },
    dispose: () => server.close(),
  }
})
