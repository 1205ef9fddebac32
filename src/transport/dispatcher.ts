import { type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import { Failure, messageOf } from '../domain/failure.ts'
import type { Tls } from '../domain/tls.ts'

export interface DispatcherOptions {
  readonly tls?: Tls | undefined
  /** Connections to one origin; any number unless given. */
  readonly connections?: number
}

/** An idle stream polls every 30 s; undici's default of 4 s would open a connection for each poll. */
const keepAliveTimeoutMs = 60_000
/** Connections are replaced after this time, so that a DNS change takes effect. */
const connectionLifeMs = 300_000
export const connectTimeoutMs = 10_000

/**
 * Creates the connection pool of one destination. Honours HTTPS_PROXY, HTTP_PROXY and NO_PROXY (read by undici) and
 * NODE_EXTRA_CA_CERTS (read by Node, where no `ca` is set). Speaks HTTP/1.1 only and follows no redirect. Throws
 * Failure (stop) for an invalid proxy address.
 */
export function createDispatcher({ tls = {}, connections }: DispatcherOptions): Dispatcher {
  const secure = { ca: tls.ca, cert: tls.cert, key: tls.key, timeout: connectTimeoutMs }
  try {
    return new EnvHttpProxyAgent({
      connections: connections ?? null,
      allowH2: false,
      keepAliveTimeout: keepAliveTimeoutMs,
      clientTtl: connectionLifeMs,
      connect: secure,
      // With a proxy undici ignores `connect`: these two replace it for the tunnel and for the proxy itself.
      requestTls: secure,
      proxyTls: { timeout: connectTimeoutMs },
      clientFactory: proxyPool,
    })
  } catch (cause) {
    throw new Failure(
      'stop',
      'network',
      `cannot connect through the proxy that the environment sets: ${messageOf(cause)}; ` +
        'HTTPS_PROXY and HTTP_PROXY take a URL such as http://proxy.example:3128',
    )
  }
}

/** The connections to a proxy. Without it, undici reports that the proxy cannot be reached as if the destination could not. */
function proxyPool(origin: URL, options: { readonly connect?: buildConnector.connector }): Dispatcher {
  const connect = options.connect!
  return new Pool(origin, {
    ...options,
    connect(to, done) {
      connect(to, (...[cause, socket]) => {
        if (cause === null) return done(null, socket)
        const error = new Error('the proxy cannot be reached', { cause })
        return done(Object.assign(error, { code: 'UND_ERR_PRX_CONN' }), null)
      })
    },
  })
}
