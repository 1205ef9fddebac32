import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { systemClock } from '../../../src/clock.ts'
import { createStdoutSink } from '../../../src/sinks/stdout/sink.ts'
import { contractFormat, idOf, sinkContract } from '../../contract/sink.contract.ts'
import { waitFor } from '../../setup/wait-for.ts'

/** The reader is a real process behind a real pipe; in front of it stands a gate that can be shut. */
sinkContract('stdout', { isTransactional: false, canFail: false, canHang: true }, () => {
  const cat = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] })
  const pipe = cat.stdin as Socket
  let text = Buffer.alloc(0)
  cat.stdout.on('data', (chunk: Buffer) => (text = Buffer.concat([text, chunk])))
  let gate: Promise<void> | undefined
  let reached = Promise.withResolvers<void>()

  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (gate === undefined) return void pipe.write(chunk, done)
      reached.resolve()
      return void gate.then(() => pipe.write(chunk, done))
    },
  })
  const sink = createStdoutSink({ name: 'out' }, { format: contractFormat, output, clock: systemClock })

  return Promise.resolve({
    sink,
    async received() {
      await waitFor(() => text.length === pipe.bytesWritten, { what: 'the reader' })
      return text.toString().split('\n').slice(0, -1).map(idOf)
    },
    hang() {
      const opened = Promise.withResolvers<void>()
      gate = opened.promise
      reached = Promise.withResolvers()
      return Promise.resolve({
        reached: reached.promise,
        repair() {
          gate = undefined
          opened.resolve()
          return Promise.resolve()
        },
      })
    },
    async dispose() {
      const gone = once(cat, 'exit')
      pipe.end()
      await gone
    },
  })
})
