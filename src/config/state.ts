import { resolve } from 'node:path'
import * as z from 'zod'
import { Secret } from '../domain/secret.ts'
import type { Complaint } from './issues.ts'
import type { Path } from './path.ts'
import { duration, marks, name, secret, secretFile } from './fields.ts'
import { Tls, TlsConfig } from './tls.ts'

export interface SqliteStateConfig {
  readonly kind: 'sqlite'
  /** Absolute. */
  readonly path: string
  readonly keepDays: number
}

export interface RedisNode {
  readonly host: string
  readonly port: number
}

export interface RedisStateConfig {
  readonly kind: 'redis'
  readonly topology: 'single' | 'sentinel' | 'cluster'
  /** The server itself, the sentinels, or some nodes of the cluster. */
  readonly nodes: readonly RedisNode[]
  /** The name that the sentinels know the primary by. */
  readonly primary?: string
  readonly db: number
  readonly username?: string
  readonly password?: Secret
  /** Present where the connection is encrypted. */
  readonly tls?: Tls
  readonly keyPrefix: string
  readonly keepDays: number
}

export type StateConfig = SqliteStateConfig | RedisStateConfig

function storeUrl(description: string) {
  return z.string().min(1).describe(description).register(marks, { kind: 'url' })
}

const node = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+)(:\d{1,5})?$/, {
    message: 'is no address of a host',
    abort: true,
  })
  .register(marks, { kind: 'address', remedy: 'write host or host:port' })

const RedisSetting = z
  .strictObject({
    url: storeUrl('redis:// or rediss:// URL of one server').optional(),
    sentinels: z.array(node).optional().describe('Sentinels, host:port each (port 26379 unless given)'),
    name: z.string().min(1).optional().describe('Name that the sentinels know the primary by'),
    cluster: z
      .array(node)
      .optional()
      .describe('Some nodes of a cluster, host:port each (port 6379 unless given)'),
    username: z.string().min(1).optional().describe('User name'),
    password: secret('Password').optional(),
    passwordFile: secretFile('the password'),
    tls: TlsConfig.optional().describe(
      'Certificates; given at all: the connection is encrypted, as with rediss://',
    ),
    keyPrefix: name('First part of every key').default('shieldlog'),
  })
  .describe('Redis, in full')
  .register(marks, { exclusive: [['url', 'sentinels', 'cluster']] })
export type RedisSetting = z.output<typeof RedisSetting>

const keepDaysDefault = 14

const keepDays = duration('Days that checkpoints of closed days are kept', { above: 0, max: 3650 }).default(
  keepDaysDefault,
)

const StateObject = z
  .strictObject({
    url: storeUrl('sqlite:, redis: or rediss: URL').optional(),
    redis: RedisSetting.optional(),
    keepDays,
  })
  .register(marks, { exclusive: [['url', 'redis']] })
export type StateObject = z.output<typeof StateObject>

export const defaultStateUrl = 'sqlite:./var/shieldlog.db'

/** A URL alone is the short form of the object with that URL; the loader writes it out. */
export const StateSetting = z
  .union([storeUrl('URL of the store'), StateObject])
  .prefault(defaultStateUrl)
  .describe('Where progress is kept: sqlite:PATH, redis://…, rediss://…, or an object')
  .register(marks, { short: 'url' })

type Report = (path: Path, complaint: Complaint) => undefined

/** The store that a setting names; undefined after a report. Relative paths start at `cwd`. */
export function resolveState(
  setting: z.output<typeof StateSetting>,
  cwd: string,
  report: Report,
): StateConfig | undefined {
  if (typeof setting === 'string') return storeAt(setting, keepDaysDefault, ['state'], cwd, report)
  const { url, redis, keepDays } = setting
  if (url !== undefined && redis !== undefined)
    return report(['state', 'redis'], { problem: 'is given beside url', remedy: 'keep one of url and redis' })
  if (redis !== undefined) return redisStore(redis, keepDays, report)
  return storeAt(url ?? defaultStateUrl, keepDays, ['state', 'url'], cwd, report)
}

function storeAt(
  url: string,
  keepDays: number,
  at: Path,
  cwd: string,
  report: Report,
): StateConfig | undefined {
  if (url.startsWith('sqlite:')) return sqliteStore(url, keepDays, at, cwd, report)
  const server = redisServer(url, at, report)
  if (server === undefined) return undefined
  return { kind: 'redis', topology: 'single', keyPrefix: 'shieldlog', keepDays, ...server }
}

function sqliteStore(url: string, keepDays: number, at: Path, cwd: string, report: Report) {
  const text = url.slice('sqlite:'.length)
  const path = text.startsWith('///') ? text.slice(2) : text
  const remedy = 'write sqlite:./var/shieldlog.db or sqlite:/absolute/path.db'
  if (path === '' || path.startsWith('//') || path.endsWith('/'))
    return report(at, { problem: 'names no database file', remedy })
  if (path === ':memory:')
    return report(at, { problem: 'names a database in memory, which forgets all progress', remedy })
  return { kind: 'sqlite', path: resolve(cwd, path), keepDays } satisfies SqliteStateConfig
}

type RedisServer = Pick<RedisStateConfig, 'nodes' | 'db' | 'username' | 'password' | 'tls'>

function redisServer(text: string, at: Path, report: Report): RedisServer | undefined {
  const remedy = 'write redis://host:6379/0, rediss://host:6379/0 or sqlite:PATH'
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '')
    return report(at, { problem: 'is no URL of a store', remedy })
  if (url.search !== '' || url.hash !== '')
    return report(at, { problem: 'holds a query or fragment, which no store takes', remedy })
  const db = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1]
  if (db === undefined) return report(at, { problem: 'names no database number after the host', remedy })
  try {
    const username = decodeURIComponent(url.username)
    const password = decodeURIComponent(url.password)
    return {
      nodes: [
        { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? 6379 : Number(url.port) },
      ],
      db: Number(db),
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password: new Secret(password) }),
      ...(url.protocol === 'rediss:' ? { tls: new Tls() } : {}),
    }
  } catch {
    return report(at, {
      problem: 'holds a "%" that stands for nothing',
      remedy: 'write %25 for a literal "%"',
    })
  }
}

function redisStore(redis: RedisSetting, keepDays: number, report: Report): RedisStateConfig | undefined {
  const { url, sentinels, cluster, username, password, tls, keyPrefix } = redis
  const at = ['state', 'redis']
  const given = [url, sentinels, cluster].filter((one) => one !== undefined)
  if (given.length !== 1)
    return report(at, {
      problem: given.length === 0 ? 'names no server' : 'names servers in more than one way',
      remedy: 'give one of url, sentinels (with name) and cluster',
    })
  if ((sentinels === undefined) !== (redis.name === undefined))
    return report([...at, sentinels === undefined ? 'sentinels' : 'name'], {
      problem: 'needs the other one of name and sentinels',
      remedy: 'give both, or neither',
    })
  const common = {
    kind: 'redis',
    keyPrefix,
    keepDays,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  } as const
  if (url !== undefined) {
    const server = redisServer(url, [...at, 'url'], report)
    if (server === undefined) return undefined
    if (server.password !== undefined && password !== undefined)
      return report([...at, 'password'], {
        problem: 'is given beside a password in url',
        remedy: 'take the password out of url',
      })
    return { topology: 'single', ...server, ...common }
  }
  const key = sentinels === undefined ? 'cluster' : 'sentinels'
  const nodes = (sentinels ?? cluster ?? []).map((text) => nodeAt(text, key === 'cluster' ? 6379 : 26_379))
  if (nodes.length === 0)
    return report([...at, key], { problem: 'is empty', remedy: 'name at least one host:port' })
  if (redis.name === undefined) return { topology: 'cluster', nodes, db: 0, ...common }
  return { topology: 'sentinel', primary: redis.name, nodes, db: 0, ...common }
}

function nodeAt(text: string, defaultPort: number): RedisNode {
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? []
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? defaultPort : Number(port) }
}
