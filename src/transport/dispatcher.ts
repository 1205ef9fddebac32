import type { Socket } from 'node:net'
import { Agent, buildConnector, Dispatcher, Pool, ProxyAgent } from 'undici'
import { latestOf, type Pem, type Tls } from '../domain/tls.ts'
import { proxyOf } from './proxies.ts'

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
/** Of a host with several addresses each is tried so long; Node's 250 ms are less than some networks need. */
const addressTimeoutMs = 3_000
/** Proxies add headers: some send policies and cookies of more than Node's 16 KiB. */
const maxHeaderBytes = 65_536

/**
 * Creates the connection pool of one destination. Honours the proxy variables (`proxyOf`) and NODE_EXTRA_CA_CERTS (read
 * by Node, where no `ca` is set). Speaks HTTP/1.1 only and follows no redirect. Throws Failure (stop) where the environment
 * sets a proxy that cannot be used.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  for (const scheme of ['http', 'https']) proxyOf(new URL(`${scheme}://name.invalid`))
  return new Connections(options)
}

class Connections extends Dispatcher {
  readonly #given: DispatcherOptions
  #pem: Pem
  #options: ReturnType<typeof poolOptions>
  #direct: Agent
  /** By the URL of the proxy. */
  #proxies = new Map<string, ProxyAgent>()

  constructor(options: DispatcherOptions) {
    super()
    this.#given = options
    this.#pem = latestOf(options.tls ?? {})
    this.#options = poolOptions(options, this.#pem)
    this.#direct = directly(this.#options)
  }

  /** Connections that were made with other certificates end with the requests that they carry. */
  #renew(): void {
    const pem = latestOf(this.#given.tls ?? this.#pem)
    if (pem === this.#pem) return
    this.close().catch(() => undefined)
    this.#pem = pem
    this.#options = poolOptions(this.#given, pem)
    this.#direct = directly(this.#options)
    this.#proxies = new Map()
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#renew()
    const proxy = proxyOf(new URL(options.origin!))
    return (proxy === undefined ? this.#direct : this.#through(proxy.href)).dispatch(options, handler)
  }

  #through(uri: string): ProxyAgent {
    const { connect, ...options } = this.#options
    const made = this.#proxies.get(uri)
    if (made !== undefined) return made
    const proxyTls = { ...connectOptions, timeout: connectTimeoutMs }
    const proxy = new ProxyAgent({ ...options, uri, requestTls: connect, proxyTls, clientFactory: proxyPool })
    this.#proxies.set(uri, proxy)
    return proxy
  }

  override async close(): Promise<void> {
    await Promise.all([this.#direct, ...this.#proxies.values()].map((each) => each.close()))
  }

  override async destroy(): Promise<void> {
    await Promise.all([this.#direct, ...this.#proxies.values()].map((each) => each.destroy()))
  }
}

const connectOptions = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: addressTimeoutMs }

function poolOptions({ connections }: DispatcherOptions, { ca, cert, key }: Pem) {
  return {
    connections: connections ?? null,
    allowH2: false,
    keepAliveTimeout: keepAliveTimeoutMs,
    clientTtl: connectionLifeMs,
    maxHeaderSize: maxHeaderBytes,
    connect: { ...connectOptions, ca, cert, key, timeout: connectTimeoutMs },
  }
}

function directly({ connect, ...options }: ReturnType<typeof poolOptions>): Agent {
  const connector = buildConnector({ ...connect, allowH2: false })
  return new Agent({
    ...options,
    connect: (to, done) =>
      connector(to, (...[error, socket]) => {
        if (error !== null) return done(error, null)
        skipContinue(socket)
        return done(null, socket)
      }),
  })
}

/**
 * Servers may send `100 Continue` before an answer although nobody asked for it, and a client has to read past it (RFC
 * 9110, 15.2). undici destroys the connection, so it does not see that answer. Only what the socket gives first after
 * a request is looked at, never the rest of an answer.
 */
function skipContinue(socket: Socket): void {
  const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)]
  let isFirst = true
  Object.assign(socket, {
    write(...args: Parameters<typeof write>) {
      isFirst = true
      return write(...args)
    },
    read(size?: number): Buffer | null {
      const chunk = read(size) as Buffer | null
      if (!isFirst || chunk === null) return chunk
      const { length } = unaskedContinue.exec(chunk.toString('latin1', 0, mostContinueBytes))?.[0] ?? ''
      isFirst = length > 0
      return chunk.length === length ? this.read() : chunk.subarray(length)
    },
  })
}

const mostContinueBytes = 1_024
const unaskedContinue = /^(?:HTTP\/1\.[01] 100\b[^\n]*\n(?:[^\r\n]+\r?\n)*\r?\n)+/

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
