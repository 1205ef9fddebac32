import type { Duplex } from 'node:stream'
import { Client } from 'undici'

/** Opens a tunnel to `host:port` through a proxy, for a connection that is only tried. Rejects where it is refused. */
export async function throughProxy(
  { origin, username, password }: URL,
  host: string,
  port: number,
  withinMs: number,
): Promise<Duplex> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const headers = {
    host: authority,
    ...(username !== '' && {
      'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
    }),
  }
  const client = new Client(origin, {
    allowH2: false,
    connect: { timeout: withinMs },
    headersTimeout: withinMs,
  })
  try {
    const { statusCode, socket } = await client.connect({ path: authority, headers })
    if (statusCode === 200) return socket
    socket.on('error', () => undefined).destroy()
    throw new Error(`the proxy answered ${statusCode}`)
  } finally {
    // The tunnel is no longer a connection of the client.
    void client.destroy()
  }
}
