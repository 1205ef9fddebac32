import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { startFakeBucket } from '../../setup/fake-bucket.ts'
import { answer, taskOf } from './child.ts'

export interface ReceiverTask {
  /** `s3`: the bucket `waf`, of the key that the tests use. */
  readonly protocol: 'http' | 'tcp' | 's3'
}

/** A destination that takes everything until its parent lets go of it. */
const { protocol } = taskOf() as ReceiverTask
await answer({ url: protocol === 's3' ? (await startFakeBucket()).url : await listening() })
await once(process, 'disconnect')
process.exit()

async function listening(): Promise<string> {
  const server: Server =
    protocol === 'tcp'
      ? createTcpServer((socket) => socket.resume())
      : createHttpServer((request, response) => request.resume().once('end', () => response.end('{}')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
