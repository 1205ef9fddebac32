import { createServer } from 'node:net'
import { listenFailure } from './listen-failure.ts'

/** Binds the port and gives it back. Throws Failure `network` (stop) with the reason and the remedy. */
export async function probePort(host: string, port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure(host, port, error)))
    server.listen({ host, port }, resolve)
  })
  await new Promise<void>((resolve) => server.close(() => resolve()))
}
