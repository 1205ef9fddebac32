import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { answer, taskOf } from './child.ts'

export interface ReceiverTask {
  readonly protocol: 'http' | 'tcp'
}

/** A destination that takes everything until its parent lets go of it. */
const { protocol } = taskOf() as ReceiverTask
const server: Server =
  protocol === 'tcp'
    ? createTcpServer((socket) => socket.resume())
    : createHttpServer((request, response) => request.resume().once('end', () => response.end('{}')))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
await answer({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
await once(process, 'disconnect')
process.exit()
