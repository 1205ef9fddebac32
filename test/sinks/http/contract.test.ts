import type { ServerResponse } from 'node:http'
import { idOf, contractFormat, sinkContract } from '../../contract/sink.contract.ts'
import { listen } from '../../transport/listening.ts'
import { openSink } from './destination-server.ts'

sinkContract('http', { isTransactional: false, canFail: true, canHang: true }, async () => {
  const taken: string[] = []
  let failing = false
  let held: ServerResponse[] | undefined
  let reached = Promise.withResolvers<void>()

  const server = await listen((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (failing) return response.writeHead(503).end()
      if (held !== undefined) {
        reached.resolve()
        return held.push(response)
      }
      const lines = Buffer.concat(chunks).toString().split('\n')
      taken.push(...lines.filter((line) => line !== '').map(idOf))
      return response.end()
    })
  })
  const { sink } = openSink(server.url, {}, { format: contractFormat })

  return {
    sink,
    received: () => Promise.resolve([...taken]),
    fail() {
      failing = true
      return Promise.resolve({ repair: () => Promise.resolve(void (failing = false)) })
    },
    hang() {
      held = []
      reached = Promise.withResolvers()
      return Promise.resolve({
        reached: reached.promise,
        repair() {
          for (const response of held ?? []) response.end()
          held = undefined
          return Promise.resolve()
        },
      })
    },
    dispose: () => server.close(),
  }
})
