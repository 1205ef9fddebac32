import { resolve } from 'node:path'
import * as z from 'zod'
import { Secret } from '../domain/text/secret.ts'
import type { RedisServers } from '../domain/redis-servers.ts'
import type { Path, Report } from './errors.ts'
import { duration, marks, name, secret, secretFile } from './fields/fields.ts'
import { Tls, TlsConfig } from './fields/tls.ts'

interface SqliteStateConfig {
  readonly kind: 'sqlite'
  /** Absolute. */
  readonly path: string
  readonly keepDays: number
}

export interface RedisStateConfig extends RedisServers {
  readonly kind: 'redis'
  readonly keepDays: number
}

export type StateConfig = SqliteStateConfig | RedisStateConfig

function storeUrl(description: string) {
  return z.string().min(1).describe(description).register(marks, { kind: 'url' })
}

const nodeText = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+)(?::(\d{1,5}))?$/

/** Hosts of one deployment, `host:port` each. */
function nodes(description: string, defaultPort: number) {
  const node = z
    .string()
    .regex(nodeText, { message: 'is not a host address', abort: true })
    .register(marks, { kind: 'address', remedy: 'write host or host:port' })
    .transform((text) => {
      const [, host = '', port = defaultPort] = nodeText.exec(text) ?? []
      return { host: withoutBrackets(host), port: Number(port) }
    })
  return z
    .array(node)
    .min(1)
    .describe(`${description}, host:port each (default port ${defaultPort})`)
    .register(marks, { remedy: 'list at least one host:port' })
}

const RedisSetting = z
  .strictObject({
    url: storeUrl('redis:// or rediss:// URL of one server').optional(),
    sentinels: nodes('Sentinels', 26_379).optional(),
    name: z.string().min(1).optional().describe('Name of the primary in the sentinels'),
    cluster: nodes('Some nodes of the cluster', 6379).optional(),
    username: z.string().min(1).optional().describe('User name'),
    password: secret('Password').optional(),
    passwordFile: secretFile('the password'),
    tls: TlsConfig.optional().describe(
      'Certificates; when set, the connection is encrypted, as with rediss://',
    ),
    keyPrefix: name('Prefix of every key').default('shieldlog'),
  })
  .describe('Redis, long form')
  .register(marks, { exclusive: [['url', 'sentinels', 'cluster']] })
type RedisSetting = Partial<z.output<typeof RedisSetting>>

const keepDaysDefault = 14

const StateObject = z
  .strictObject({
    url: storeUrl('sqlite:, redis: or rediss: URL').optional(),
    redis: RedisSetting.optional(),
    keepDays: duration(
      'Days to keep checkpoints of complete days; default: 14, or readableDays if that is more',
      { above: 0, max: 3650 },
    ).optional(),
  })
  .register(marks, { exclusive: [['url', 'redis']] })
type StateObject = z.output<typeof StateObject>

export const defaultStateUrl = 'sqlite:./var/shieldlog.db'

/** A URL alone is the short form of the object with that URL; the loader expands it. */
export const StateSetting = z
  .union([storeUrl('URL of the store'), StateObject])
  .prefault(defaultStateUrl)
  .describe('Where progress is kept: sqlite:PATH, redis://…, rediss://…, or an object')
  .register(marks, { short: 'url' })

/** Resolves the store of a setting; undefined after a report. */
export function resolveState(
  setting: z.output<typeof StateSetting>,
  readableDays: number,
  { cwd, report }: { readonly cwd: string; readonly report: Report },
): StateConfig | undefined {
  const isShort = typeof setting === 'string'
  const given: StateObject = isShort ? { url: setting } : setting
  const { url = defaultStateUrl, redis, keepDays = Math.max(keepDaysDefault, readableDays) } = given
  if (keepDays < readableDays)
    report(['state', 'keepDays'], {
      value: String(keepDays),
      problem: `is less than poll.readableDays (${readableDays})`,
      remedy: `set it to ${readableDays} or more, or leave it out; what was delivered of a day must be known while the API lists it`,
    })
  const at = isShort ? ['state'] : ['state', 'url']
  if (redis !== undefined) return redisStore(redis, keepDays, ['state', 'redis', 'url'], report)
  if (!url.startsWith('sqlite:')) return redisStore({ url, keyPrefix: 'shieldlog' }, keepDays, at, report)
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
  const problem = sqliteProblem(path)
  const remedy = 'write sqlite:./var/shieldlog.db or sqlite:/absolute/path.db'
  if (problem !== undefined) return report(at, { problem, remedy })
  return { kind: 'sqlite', path: resolve(cwd, path), keepDays }
}

function sqliteProblem(path: string): string | undefined {
  if (path === ':memory:') return 'is a database in memory, which would lose all progress'
  return path === '' || path.startsWith('//') || path.endsWith('/') ? 'has no database file' : undefined
}

type RedisServer = Pick<RedisStateConfig, 'nodes' | 'db' | 'username' | 'password' | 'tls'>

function redisServer(text: string, at: Path, report: Report): RedisServer | undefined {
  const url = URL.parse(text)
  const problem = redisUrlProblem(url)
  if (url === null || problem !== undefined)
    return report(at, {
      problem: problem ?? '',
      remedy: 'write redis://host:6379/0, rediss://host:6379/0 or sqlite:PATH',
    })
  const [username, password] = [decoded(url.username), decoded(url.password)]
  return {
    nodes: [{ host: withoutBrackets(url.hostname), port: Number(url.port || 6379) }],
    db: Number(url.pathname.slice(1)),
    ...(username !== '' && { username }),
    ...(password !== '' && { password: new Secret(password) }),
    ...(url.protocol === 'rediss:' && { tls: new Tls() }),
  }
}

function redisUrlProblem(url: URL | null): string | undefined {
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    return 'is not the URL of a store'
  if (url.search !== '' || url.hash !== '') return 'contains a query or fragment, which no store accepts'
  return /^\/?\d{0,5}$/.test(url.pathname) ? undefined : 'has no valid database number after the host'
}

/** An invalid "%" sequence stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function redisStore(
  redis: RedisSetting,
  keepDays: number,
  urlAt: Path,
  report: Report,
): RedisStateConfig | undefined {
  const { url, sentinels, cluster, name: primary, passwordFile: _, ...given } = redis
  // The schema leaves out what is not given.
  const own = given as Pick<RedisStateConfig, 'username' | 'password' | 'tls' | 'keyPrefix'>
  const at = ['state', 'redis']
  if ((sentinels === undefined) !== (primary === undefined))
    return report([...at, sentinels === undefined ? 'sentinels' : 'name'], {
      problem: 'is missing, although the other one of name and sentinels is set',
      remedy: 'set both, or neither',
    })
  const common = { kind: 'redis', keepDays, db: 0, ...own } as const
  if (sentinels !== undefined && primary !== undefined)
    return { ...common, topology: 'sentinel', primary, nodes: sentinels }
  if (cluster !== undefined) return { ...common, topology: 'cluster', nodes: cluster }
  if (url === undefined)
    return report(at, {
      problem: 'has no server',
      remedy: 'set one of url, sentinels (with name) and cluster',
    })
  const server = redisServer(url, urlAt, report)
  if (server?.password !== undefined && own.password !== undefined)
    return report([...at, 'password'], {
      problem: 'cannot be used with a password in url',
      remedy: 'remove the password from url',
    })
  return server && { ...common, topology: 'single', ...server, ...own }
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}
