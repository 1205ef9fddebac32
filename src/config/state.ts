import { resolve } from 'node:path'
import * as z from 'zod'
import { percentDecoded } from '../domain/text/decode.ts'
import { type SettingError, withoutBrackets } from '../domain/text/http-rules.ts'
import { Secret } from '../domain/text/secret.ts'
import type { RedisServers } from '../domain/redis-servers.ts'
import { addIssue, duration, marks, name, secret, secretFile } from '../fields/fields.ts'
import { TlsConfig } from '../fields/pem-files.ts'

export interface RedisStateConfig extends RedisServers {
  readonly kind: 'redis'
  readonly keepDays: number
}

export type StateConfig =
  { readonly kind: 'sqlite'; readonly path: string; readonly keepDays: number } | RedisStateConfig

function storeUrl(description: string, errorOf: (text: string) => SettingError | undefined) {
  const schema = z.string().superRefine((text, context) => addIssue(context, errorOf(text)))
  return schema.describe(description).register(marks, { kind: 'url' })
}

const sqlite = 'sqlite:'

function storeUrlError(text: string): SettingError | undefined {
  if (!text.startsWith(sqlite)) return redisUrlError(text)
  const path = sqlitePath(text)
  const remedy = 'write sqlite:./var/shieldlog.db or sqlite:/absolute/path.db'
  if (path === ':memory:')
    return { problem: 'is a database in memory, which would lose all progress', remedy }
  const isFile = path !== '' && !path.startsWith('//') && !path.endsWith('/')
  return isFile ? undefined : { problem: 'has no database file', remedy }
}

function sqlitePath(url: string): string {
  return url.slice(sqlite.length).replace(/^\/\/(?=\/)/, '')
}

function redisUrlError(text: string): SettingError | undefined {
  const url = URL.parse(text)
  const remedy = 'write redis://host:6379/0, rediss://host:6379/0 or sqlite:PATH'
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    return { problem: 'is not the URL of a state', remedy }
  if (url.search !== '' || url.hash !== '')
    return { problem: 'contains a query or fragment, which no state accepts', remedy }
  if (/^\/?\d{0,5}$/.test(url.pathname)) return undefined
  return { problem: 'has no valid database number after the host', remedy }
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
    url: storeUrl('redis:// or rediss:// URL of one server', redisUrlError).optional(),
    sentinels: nodes('Sentinels', 26_379).optional(),
    name: z.string().min(1).optional().describe('Name of the primary in the sentinels'),
    cluster: nodes('Some nodes of the cluster', 6379).optional(),
    username: z.string().min(1).optional().describe('User name'),
    password: secret('Password').optional(),
    passwordFile: secretFile('the password'),
    tls: TlsConfig.optional().describe('Certificates; encrypts the connection, as rediss:// does'),
    keyPrefix: name('Prefix of every key').default('shieldlog'),
  })
  .superRefine(({ url, sentinels, cluster, name: primary, password }, context) => {
    if ((sentinels === undefined) !== (primary === undefined)) {
      const problem = 'is missing, although the other one of name and sentinels is set'
      const missing = sentinels === undefined ? 'sentinels' : 'name'
      return addIssue(context, { problem, remedy: 'set both, or neither' }, [missing])
    }
    if (url === undefined && sentinels === undefined && cluster === undefined) {
      const remedy = 'set one of url, sentinels (with name) and cluster'
      return addIssue(context, { problem: 'has no server', remedy })
    }
    if (url !== undefined && new URL(url).password !== '' && password !== undefined) {
      const problem = 'cannot be used with a password in url'
      addIssue(context, { problem, remedy: 'remove the password from url' }, ['password'])
    }
  })
  .describe('Redis, long form')
  .register(marks, { exclusive: [['url', 'sentinels', 'cluster']] })
type RedisSetting = z.output<typeof RedisSetting>

export const defaultStateUrl = 'sqlite:./var/shieldlog.db'

/** A URL alone is the short form of the object with that URL. */
export const StateSetting = z
  .union([
    storeUrl('URL of the state', storeUrlError),
    z
      .strictObject({
        url: storeUrl('sqlite:, redis: or rediss: URL', storeUrlError).optional(),
        redis: RedisSetting.optional(),
        keepDays: duration(
          'Days to keep checkpoints of complete days; default: 14, or readableDays if that is more',
          {
            above: 0,
            max: 3650,
          },
        ).optional(),
      })
      .register(marks, { exclusive: [['url', 'redis']] }),
  ])
  .prefault(defaultStateUrl)
  .describe('Where progress is kept: sqlite:PATH, redis://…, rediss://…, or an object')
  .register(marks, { short: 'url' })
  .transform((given) => (typeof given === 'string' ? { url: given } : given))

/** The store of a setting; paths start at `cwd`. `secretUrl`: its URL, where a file is inserted. */
export function storeOf(
  { url = defaultStateUrl, redis }: z.output<typeof StateSetting>,
  keepDays: number,
  cwd: string,
  secretUrl?: Secret,
): StateConfig {
  if (redis !== undefined) return redisStore(redis, keepDays, secretUrl)
  if (!url.startsWith(sqlite)) return redisStore({ url, keyPrefix: 'shieldlog' }, keepDays, secretUrl)
  return { kind: 'sqlite', path: resolve(cwd, sqlitePath(url)), keepDays }
}

function redisStore(
  redis: Partial<RedisSetting>,
  keepDays: number,
  secretUrl: Secret | undefined,
): RedisStateConfig {
  const { url, sentinels, cluster, name: primary, passwordFile: _, ...given } = redis
  // The schema leaves out what is not given.
  const own = given as Pick<RedisStateConfig, 'username' | 'password' | 'tls' | 'keyPrefix'>
  const common = { kind: 'redis', keepDays, db: 0, ...own } as const
  if (sentinels !== undefined && primary !== undefined)
    return { ...common, topology: 'sentinel', primary, nodes: sentinels }
  if (cluster !== undefined) return { ...common, topology: 'cluster', nodes: cluster }
  const server = new URL(url!)
  // An invalid "%" sequence stays as it is.
  const decoded = (text: string) => percentDecoded(text) ?? text
  const username = decoded(server.username)
  const passwordIn = (text: string) => decoded(new URL(text).password)
  const password = passwordIn(url!)
  const read = (from: Secret) => () => {
    from.reread()
    return passwordIn(from.reveal())
  }
  return {
    ...common,
    topology: 'single',
    nodes: [{ host: withoutBrackets(server.hostname), port: Number(server.port || 6379) }],
    db: Number(server.pathname.slice(1)),
    ...(username !== '' && { username }),
    ...(password !== '' && { password: new Secret(password, secretUrl && read(secretUrl)) }),
    ...(server.protocol === 'rediss:' && { tls: {} }),
    ...own,
  }
}
