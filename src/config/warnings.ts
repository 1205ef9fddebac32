import { unknownWord, type WordKind } from '../domain/event/known-words.ts'
import { statSync } from 'node:fs'
import { firstOf } from '../domain/text/terminal-text.ts'
import { isLoopback } from '../domain/text/http-rules.ts'
import { nearest } from '../domain/text/nearest.ts'
import { secretsIn } from '../domain/text/secret.ts'
import type { HttpSinkConfig } from '../sinks/http/config.ts'
import { hiddenParameters } from '../shield/redaction/names.ts'
import type { Environment } from './environment.ts'
import type { Config, SinkConfig } from './schema.ts'
import type { SourceFile } from './source.ts'
import type { RedisStateConfig } from './state.ts'

/** What is valid, and probably not meant. */
export function configWarnings(config: Config, env: Environment): string[] {
  const { accounts, zones, sinks } = config
  // With `zones: all` zones are compared once the API has listed them; a command may need none.
  const areKnown = accounts.every(({ discovery }) => discovery === undefined)
  const ofZones = areKnown && zones.length > 0 ? unknownZoneWarnings(config) : []
  return [...plainTextWarnings(config, env), ...unknownWordWarnings(sinks), ...ofZones]
}

/** Warns of zones in `where` that are not shipped, for a configuration whose zones are all known. */
export function unknownZoneWarnings({ zones, sinks }: Config): string[] {
  const names = [...new Set(zones.flatMap(({ id, name }) => [String(id), name]))]
  const plainNames = new Set(names.map(plain))
  return listedIn(sinks, 'zones')
    .filter(({ value }) => !plainNames.has(plain(value)))
    .map(({ at, value }) => {
      const close = nearest(String(value).trim(), names)
      const remedy = close === undefined ? 'write the id or the name of one' : `did you mean ${close}?`
      return `${at} ${JSON.stringify(value)} is not a zone that is shipped, so it has no effect; ${remedy}`
    })
}

function plain(zone: string | number): string {
  return String(zone).trim().toLowerCase()
}

type Listed = readonly (string | number)[]

/** The values of a list in `where` of every sink, and in its alternatives, each with its place. */
function listedIn(sinks: Config['sinks'], kind: WordKind | 'zones') {
  return sinks.flatMap(({ where = {} }, sink) =>
    [where, ...(where.any ?? [])].flatMap((lists, index) => {
      const at = `sinks[${sink}].where${index === 0 ? '' : `.any[${index - 1}]`}.${kind}`
      const given: Listed | { readonly not: Listed } = lists[kind] ?? []
      const [list, place] = 'not' in given ? [given.not, `${at}.not`] : [given, at]
      return list.map((value, position) => ({ at: `${place}[${position}]`, value }))
    }),
  )
}

/** Warns of words in `where` and `sample` that no event is known to have. */
function unknownWordWarnings(sinks: Config['sinks']): string[] {
  const told = (kind: WordKind) => (found: ReturnType<typeof listedIn>[number]) => {
    const why = unknownWord(kind, String(found.value))
    return why === undefined ? [] : [`${found.at} ${JSON.stringify(found.value)} ${why}`]
  }
  const sampled = sinks.flatMap(({ sample }, index) =>
    Object.keys(sample?.actions ?? {}).map((value) => ({ at: `sinks[${index}].sample.actions`, value })),
  )
  const kinds = ['actions', 'severities', 'countries'] as const
  return [
    ...kinds.flatMap((kind) => listedIn(sinks, kind).flatMap(told(kind))),
    ...sampled.flatMap(told('actions')),
  ]
}

/** Warns of a file that other users can read, with these secrets in it as plain text. */
export function readableSecretsWarnings({ path, label }: SourceFile, secrets: readonly string[]): string[] {
  const mode = path === undefined ? 0 : (statSync(path, { throwIfNoEntry: false })?.mode ?? 0)
  if ((mode & 0o004) === 0 || secrets.length === 0) return []
  return [
    `${label} has mode ${(mode & 0o7777).toString(8).padStart(4, '0')}, so that other users of this host can read ` +
      `${firstOf(secrets, 1)}; run chmod 600 on it, or keep the secret in a file of its own (…File)`,
  ]
}

/** Credentials on their way over a network, in plain text. */
interface Sent {
  /** The setting, or the name of the environment. */
  readonly at: string
  readonly what: string
  readonly host: string
  readonly remedy?: string
}

/** Warns of credentials that are sent to other hosts in plain text. */
function plainTextWarnings(config: Config, env: Environment): string[] {
  const { api, accounts, sinks, state, notify, heartbeat } = config
  const secretUrls = [
    ...notify.map(({ name, url }, index) => ({ at: `notify[${index}].url`, of: `notify ${name}`, url })),
    ...(heartbeat === undefined ? [] : [{ at: 'heartbeat.url', of: 'the heartbeat', url: heartbeat.url }]),
  ]
  const sent: readonly Sent[] = [
    ...(accounts.length > 0 ? overHttp({ at: 'api.baseUrl', what: 'the access key' }, api.baseUrl) : []),
    ...sinks.flatMap(ofSink),
    ...(state.kind === 'redis' ? ofRedis(state) : []),
    ...secretUrls.flatMap(({ at, of, url }) =>
      url.isResolved ? overHttp({ at, what: `the URL of ${of}, which is a secret,` }, url.reveal()) : [],
    ),
    ...ofProxies(env),
  ]
  return sent
    .filter(({ host }) => !isLoopback(host))
    .map(
      ({ at, what, host, remedy = 'use https' }) =>
        `${at}: shieldlog sends ${what} to ${host} unencrypted; ${remedy}`,
    )
}

function overHttp(what: Omit<Sent, 'host'>, text: string): Sent[] {
  const url = URL.parse(text)
  return url?.protocol === 'http:' ? [{ ...what, host: url.hostname }] : []
}

const isSecretParameter = hiddenParameters({ listed: [], kept: [] })

function ofSink(sink: SinkConfig, index: number): Sent[] {
  const at = (key: string) => `sinks[${index}].${key}`
  const credentials = `the credentials of sink ${sink.name}`
  if (sink.type === 'kafka') {
    const hosts = sink.brokers.map((broker) => broker.replace(/:\d+$/, ''))
    const host = hosts.find((each) => !isLoopback(each))
    const isPlain = sink.sasl !== undefined && sink.tls === undefined && host !== undefined
    return isPlain ? [{ at: at('brokers'), what: credentials, host, remedy: 'set tls' }] : []
  }
  // With the keys in the settings, or those of the machine.
  const isSigned = sink.type === 's3' || ('aws' in sink && sink.aws !== undefined)
  const isSecret = secretsIn(sink).length > 0 || (sink.type === 'http' && isSecretUrl(sink))
  if (!isSigned && !isSecret && !('endpoint' in sink)) return []
  const what = isSigned ? `signed requests of sink ${sink.name}` : credentials
  const whats = { url: what, endpoint: what, loginUrl: `the client secret of sink ${sink.name}` }
  return Object.entries(sink).flatMap(([key, url]) =>
    (key === 'url' || key === 'endpoint' || key === 'loginUrl') && typeof url === 'string'
      ? overHttp({ at: at(key), what: whats[key] }, url)
      : [],
  )
}

/** Whether the address of a sink is what gives access. */
function isSecretUrl({ preset, url = '' }: HttpSinkConfig): boolean {
  const query = URL.parse(url)?.searchParams.keys() ?? []
  return preset === 'sumologic' || [...query].some(isSecretParameter)
}

function ofRedis({ nodes, password, tls }: RedisStateConfig): Sent[] {
  const node = nodes.find(({ host }) => !isLoopback(host))
  if (password === undefined || tls !== undefined || node === undefined) return []
  const remedy = 'use rediss://, or set state.redis.tls'
  return [{ at: 'state', what: 'the password of Redis', host: node.host, remedy }]
}

function ofProxies(env: Environment): Sent[] {
  return ['https_proxy', 'http_proxy', 'all_proxy'].flatMap((name) => {
    const at = env[name] === undefined ? name.toUpperCase() : name
    const text = env[at] ?? ''
    const url = URL.parse(text.includes('://') ? text : `http://${text}`)
    const what = 'the password of the proxy'
    return (url?.password ?? '') === '' ? [] : overHttp({ at, what }, url!.href)
  })
}
