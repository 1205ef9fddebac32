import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startFakeBucket } from '../../setup/fake-bucket.ts'
import { answer, taskOf } from './child.ts'

export interface ReceiverTask {
  /** `s3`: the bucket `waf`, of the key that the tests use. */
  readonly protocol: 'http' | 's3'
}

/** A destination that takes everything until its parent lets go of it. */
const { protocol } = taskOf() as ReceiverTask
const server = createServer((request, response) => request.resume().once('end', () => response.end('{}')))
await answer({ url: protocol === 's3' ? (await startFakeBucket()).url : await listening() })
await once(process, 'disconnect')
process.exit()

async function listening(): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
