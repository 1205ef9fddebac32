import { createServer, type AddressInfo } from 'node:net'

/** A TCP port of 127.0.0.1 that nothing listens on now. Another process may take it before the caller does. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
