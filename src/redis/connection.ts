import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Cluster, type ClusterOptions, type DNSLookupFunction, Redis, type RedisOptions } from 'ioredis'
import type { RedisServers } from '../domain/redis-servers.ts'
import { pemAtConnect } from '../domain/tls.ts'
import './greeting.ts'

export type RedisClient = Redis | Cluster

interface ConnectionUse {
  /**
   * `prompt`: a command fails within seconds while Redis is away. `patient`: it waits until Redis is back, as consumers
   * of a queue need. `strict`: it is sent at once or not at all, and once only; the caller waits until the client is
   * ready and decides what is sent again.
   */
  readonly manner: 'prompt' | 'patient' | 'strict'
  /** Name in CLIENT LIST. */
  readonly name: string
}

const connectTimeoutMs = 5_000
/** Also for a server that keeps its connections and does not answer. */
const commandTimeoutMs = 5_000
/** The same for callers that may send a command twice within one call. */
const strictTimeoutMs = 3_000
const longestRetryMs = 2_000

const manners = {
  prompt: { maxRetriesPerRequest: 1, commandTimeout: commandTimeoutMs },
  patient: { maxRetriesPerRequest: null },
  strict: {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    commandTimeout: strictTimeoutMs,
    // A connection whose other end vanished reports no error: close it, and connect again.
    socketTimeout: strictTimeoutMs + 1_000,
  },
} satisfies Record<ConnectionUse['manner'], RedisOptions>

/**
 * Connects, and reconnects whenever the connection is lost. Logs nothing: `onError` gets the error of every failed try
 * and of a connection that broke; commands reject with what ioredis throws.
 */
export function connectRedis(
  servers: RedisServers,
  use: ConnectionUse,
  onError: (error: Error) => void,
): RedisClient {
  const client = servers.topology === 'cluster' ? connectCluster(servers, use) : connectOne(servers, use)
  client.on('error', onError)
  return client
}

/** Calls the listener whenever the client, or a node of its cluster, has connected or reconnected. */
export function onConnected(client: RedisClient, listener: () => void): void {
  client.on('ready', listener)
  if (client instanceof Cluster) client.on('+node', listener)
}

function connectOne(servers: RedisServers, use: ConnectionUse): Redis {
  const { topology, nodes, primary, tls } = servers
  const options = { ...commonOptions(servers, use), db: servers.db, retryStrategy: retryInMs }
  if (topology === 'single') return new Redis({ ...options, ...nodes[0] })
  return new Redis({
    ...options,
    sentinels: nodes.map(({ host, port }) => ({ host, port })),
    ...(primary === undefined ? {} : { name: primary }),
    // A sentinel without a password answers with an error that the client ignores.
    ...(servers.password === undefined ? {} : { sentinelPassword: servers.password.reveal() }),
    ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: pemAtConnect(tls) }),
    sentinelRetryStrategy: retryInMs,
    sentinelCommandTimeout: commandTimeoutMs,
  })
}

function connectCluster(servers: RedisServers, use: ConnectionUse): Cluster {
  const options = {
    clusterRetryStrategy: retryInMs,
    enableOfflineQueue: use.manner !== 'strict',
    redisOptions: commonOptions(servers, use),
    // A certificate holds host names of the nodes, so they are not resolved first.
    ...(servers.tls === undefined ? {} : { dnsLookup }),
  } satisfies ClusterOptions
  return new Cluster(
    servers.nodes.map(({ host, port }) => ({ host, port })),
    options,
  )
}

function commonOptions({ username, password, tls }: RedisServers, { manner, name }: ConnectionUse) {
  return {
    connectionName: name,
    connectTimeout: connectTimeoutMs,
    // The user of the connection may have no right to commands that are not needed.
    disableClientInfo: true,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: password.reveal() }),
    ...(tls === undefined ? {} : { tls: pemAtConnect(tls) }),
    ...manners[manner],
    // A primary that became a replica in a failover refuses writes; the next connection finds the new one.
    reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? (1 as const) : false),
  } satisfies RedisOptions
}

const dnsLookup: DNSLookupFunction = (host, done) => done(null, host)

/** Doubling from 50 ms; the random part keeps many workers from reconnecting at the same instant. */
function retryInMs(times: number): number {
  return Math.min(longestRetryMs, 50 * 2 ** Math.min(times - 1, 10)) * (0.5 + Math.random() / 2)
}

export type ScriptArgument = string | number | Buffer
type Script = (keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>

/**
 * Loads a Lua script by its URL as a function: its text is sent once for each connection, and its hash from then on.
 * `bytes`: texts of the answer come as buffers.
 */
export function loadScript(client: RedisClient, location: URL, as: 'text' | 'bytes' = 'text'): Script {
  const name = basename(location.pathname, '.lua')
  if (!(name in client)) client.defineCommand(name, { lua: readFileSync(location, 'utf8') })
  const command = Reflect.get(client, as === 'bytes' ? `${name}Buffer` : name) as (
    count: number,
    rest: readonly ScriptArgument[],
  ) => Promise<unknown>
  // As one list, which the client flattens: one call cannot take some hundred thousand arguments.
  return (keys, args) => command.call(client, keys.length, [...keys, ...args])
}
