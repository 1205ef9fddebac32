import { systemClock } from '../../../src/clock.ts'
import { createSyslogSink } from '../../../src/sinks/syslog/sink.ts'
import { contractFormat, idOf, sinkContract } from '../../contract/sink.contract.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { receiver, textOf } from './receiver.ts'

sinkContract('syslog', { canFail: true }, async () => {
  let server = await receiver()
  const { port } = server
  const sink = createSyslogSink(
    {
      name: 'siem',
      host: '127.0.0.1',
      port,
      protocol: 'tcp',
      framing: 'octet',
      hostname: 'shield',
      maxMessageBytes: 65_536,
      timeoutSeconds: 10,
    },
    // Without a back-off: what a failing receiver gets next is the subject.
    { format: contractFormat, clock: systemClock, random: () => 0 },
  )
  return {
    sink,
    async received(count) {
      // A delivery ends when the operating system has its bytes: the receiver reads them a moment later.
      await waitFor(() => server.messages.length >= count && server.rest() === 0, { what: 'the receiver' })
      return server.messages.map(textOf).map(idOf)
    },
    async fail() {
      await server.close()
      return async () => (server = await receiver({ port }))
    },
    dispose: () => server.close(),
  }
})
