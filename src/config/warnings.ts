import { unknownWord, type WordKind } from '../domain/event/known-words.ts'
import { statSync } from 'node:fs'
import { firstOf } from '../domain/text/terminal-text.ts'
import { isLoopback } from '../domain/text/http-rules.ts'
import { nearest } from '../domain/text/nearest.ts'
import { secretsIn } from '../domain/text/secret.ts'
import type { Config, SinkConfig } from './schema.ts'
import type { SourceFile } from './source.ts'

/** What is valid, and probably not meant. */
export function configWarnings(config: Config): string[] {
  const { api, accounts, zones, sinks } = config
  const ofApi = accounts.length > 0 ? plainHttpWarnings('api.baseUrl', api.baseUrl, 'the access key') : []
  // With `zones: all` zones are compared once the API has listed them; a command may need none.
  const areKnown = accounts.every(({ discovery }) => discovery === undefined)
  const ofZones = areKnown && zones.length > 0 ? unknownZoneWarnings(config) : []
  return [...ofApi, ...sinks.flatMap(ofSink), ...unknownWordWarnings(sinks), ...ofZones]
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

function ofSink(sink: SinkConfig, index: number): string[] {
  if (secretsIn(sink).length === 0) return []
  const whats = { url: 'the credentials', loginUrl: 'the client secret' }
  return Object.entries(sink).flatMap(([key, url]) =>
    (key === 'url' || key === 'loginUrl') && typeof url === 'string'
      ? plainHttpWarnings(`sinks[${index}].${key}`, url, `${whats[key]} of sink ${sink.name}`)
      : [],
  )
}

/** Of credentials that are sent in plain text. */
function plainHttpWarnings(path: string, url: string, what: string): string[] {
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'http:' || isLoopback(hostname)) return []
  return [`${path}: shieldlog sends ${what} to ${hostname} unencrypted; use https`]
}
