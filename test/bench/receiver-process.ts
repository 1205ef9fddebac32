import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answer } from './child.ts'

/** A destination that takes everything and looks at nothing, until its parent lets go of it. */
const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => response.end())
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
await answer({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` })
await once(process, 'disconnect')
server.closeAllConnections()
server.close()
