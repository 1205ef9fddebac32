import { contractFormat, idOf, sinkContract } from '../../contract/sink.contract.ts'
import { serve, ship } from './destination-server.ts'

sinkContract('http', { canFail: true, canHang: true }, async (gate) => {
  const taken: string[] = []
  let isFailing = false
  const server = await serve(async ({ text }, response) => {
    await gate.pass()
    if (isFailing) return response.writeHead(503).end()
    taken.push(...text.split('\n').slice(0, -1).map(idOf))
    return response.end()
  })
  return {
    sink: ship(server.url, {}, { format: contractFormat }).sink,
    received: () => Promise.resolve([...taken]),
    fail() {
      isFailing = true
      return Promise.resolve(() => (isFailing = false))
    },
    dispose: () => Promise.resolve(),
  }
})
