import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { systemClock } from '../../../src/clock.ts'
import { createStdoutSink } from '../../../src/sinks/stdout/sink.ts'
import { contractFormat, idOf, sinkContract } from '../../contract/sink.contract.ts'
import { waitFor } from '../../setup/wait-for.ts'

/** The reader is a real process behind a real pipe. */
sinkContract('stdout', { canHang: true }, (gate) => {
  const cat = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] })
  const pipe = cat.stdin as Socket
  let text = Buffer.alloc(0)
  cat.stdout.on('data', (chunk: Buffer) => (text = Buffer.concat([text, chunk])))
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => void gate.pass().then(() => pipe.write(chunk, done)),
  })
  return Promise.resolve({
    sink: createStdoutSink({ name: 'out' }, { format: contractFormat, output, clock: systemClock }),
    async received() {
      await waitFor(() => text.length === pipe.bytesWritten, { what: 'the reader' })
      return text.toString().split('\n').slice(0, -1).map(idOf)
    },
    async dispose() {
      const gone = once(cat, 'exit')
      pipe.end()
      await gone
    },
  })
})
