import type { Server } from 'node:http'

const everywhere: readonly string[] = ['', '0.0.0.0', '::']

/** Starts to listen; resolves with address and port. A server on every interface returns an address of this host. */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string; readonly port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      const what = isTaken
        ? `port ${port} is in use; choose another, or 0 for a free one`
        : `cannot listen on ${host}: ${error.message}; choose an address of this host, 127.0.0.1 or 0.0.0.0`
      reject(new Error(what, { cause: error }))
    })
    server.listen(port, host, () => resolve())
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const named = everywhere.includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return { url: `http://${named}:${address.port}`, port: address.port }
}
