import { unknownWord, type WordKind } from '../domain/event/known-words.ts'
import { statSync } from 'node:fs'
import { isLoopback } from '../domain/text/http-rules.ts'
import { nearest } from '../domain/text/nearest.ts'
import { Secret } from '../domain/text/secret.ts'
import type { Config, SinkConfig } from './schema.ts'
import type { SourceFile } from './source.ts'

/** Warns of credentials sent in plain text. */
export function plainHttpWarnings({ api, accounts, sinks }: Config): string[] {
  const ofApi = accounts.length > 0 ? warningOf('api.baseUrl', api.baseUrl, 'the access key') : []
  return [...ofApi, ...sinks.flatMap(ofSink)]
}

/** Warns of zones in `where` that are not shipped, for a configuration whose zones are all known. */
export function unknownZoneWarnings({ accounts, sinks }: Config): string[] {
  const zones = accounts.flatMap((account) => account.zones)
  const names = [...new Set(zones.flatMap(({ id, name }) => [String(id), name]))]
  const known = new Set(names.map(plain))
  return sinks
    .flatMap(({ where }, index) => filtersOf(where, `sinks[${index}].where`))
    .flatMap(([at, { zones: given }]) => {
      const listed = listedIn(given, `${at}.zones`)
      const unknown = listed.filter(({ value }) => !known.has(plain(value)))
      const passes = given !== undefined && 'not' in given
      const effect = passes ? 'it keeps nothing out' : 'no event comes from it'
      const isClosed = !passes && unknown.length === listed.length && !at.includes('any')
      return unknown.map(({ at, value }) => {
        const close = nearest(String(value).trim(), names)
        const remedy = close === undefined ? 'write the id or the name of one' : `did you mean ${close}?`
        const all = isClosed ? ', and the sink gets no event at all' : ''
        return `${at} ${JSON.stringify(value)} is not a zone that is shipped: ${effect}${all}; ${remedy}`
      })
    })
}

function plain(zone: string | number): string {
  return String(zone).trim().toLowerCase()
}

type Where = NonNullable<SinkConfig['where']>

/** The lists of `where`, and those of each alternative, with their places. */
function filtersOf(where: Where = {}, at: string): (readonly [at: string, lists: Where])[] {
  return [[at, where], ...(where.any ?? []).map((lists, index) => [`${at}.any[${index}]`, lists] as const)]
}

/** The values of a filter, each with its place. */
function listedIn<T>(given: readonly T[] | { readonly not: readonly T[] } = [], path: string) {
  const [list, place] = 'not' in given ? [given.not, `${path}.not`] : [given, path]
  return list.map((value, index) => ({ at: `${place}[${index}]`, value }))
}

/** Warns of words in `where` and `sample` that no event is known to have. */
export function unknownWordWarnings({ sinks }: Pick<Config, 'sinks'>): string[] {
  return sinks.flatMap(({ where, sample }, index) => {
    const sink = `sinks[${index}]`
    const told = (at: string, kind: WordKind, word: string) => {
      const why = unknownWord(kind, word)
      return why === undefined ? [] : [`${at} ${JSON.stringify(word)} ${why}`]
    }
    const lists = filtersOf(where, `${sink}.where`).flatMap(([place, lists]) =>
      (['actions', 'severities', 'countries'] as const).flatMap((kind) =>
        listedIn(lists[kind], `${place}.${kind}`).flatMap(({ at, value }) => told(at, kind, value)),
      ),
    )
    const sampled = Object.keys(sample?.actions ?? {})
    return [...lists, ...sampled.flatMap((word) => told(`${sink}.sample.actions`, 'actions', word))]
  })
}

/** Warns of a file that other users can read, with these secrets in it as plain text. */
export function readableSecretsWarnings({ path, label }: SourceFile, secrets: readonly string[]): string[] {
  const [first] = secrets
  if (path === undefined || first === undefined) return []
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o004) === 0) return []
  const more = secrets.length > 1 ? ` and ${secrets.length - 1} more` : ''
  const octal = (mode & 0o777).toString(8).padStart(4, '0')
  return [
    `${label} has mode ${octal}, so that other users of this host can read ${first}${more}; ` +
      'run chmod 600 on it, or keep the secret in a file of its own (…File)',
  ]
}

function ofSink(sink: SinkConfig, index: number): string[] {
  if (!holdsSecret(sink)) return []
  const whats = { url: 'the credentials', loginUrl: 'the client secret' }
  return Object.entries(sink).flatMap(([key, url]) =>
    (key === 'url' || key === 'loginUrl') && typeof url === 'string'
      ? warningOf(`sinks[${index}].${key}`, url, `${whats[key]} of sink ${sink.name}`)
      : [],
  )
}

function warningOf(path: string, url: string, what: string): string[] {
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'http:' || isLoopback(hostname)) return []
  return [`${path}: shieldlog sends ${what} to ${hostname} unencrypted; use https`]
}

function holdsSecret(value: unknown): boolean {
  if (value instanceof Secret) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsSecret)
}
