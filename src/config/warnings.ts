import { unknownWord, type WordKind } from '../domain/event/known-words.ts'
import { statSync } from 'node:fs'
import { isLoopback } from '../domain/text/http-rules.ts'
import { nearest } from '../domain/text/nearest.ts'
import { Secret } from '../domain/text/secret.ts'
import { type Path, pathText } from './errors.ts'
import type { Config, SinkConfig } from './schema.ts'
import { type Shape, formFor, isPlainObject, property, scalarForm } from './shape.ts'
import { isTemplate } from './prepare.ts'
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
  const known = new Set(names.map((name) => name.trim().toLowerCase()))
  return sinks.flatMap(({ where }, index) => {
    const given = where?.zones ?? []
    const [list, path] = 'not' in given ? [given.not, 'where.zones.not'] : [given, 'where.zones']
    return list.flatMap((zone, at) => {
      const text = String(zone).trim()
      if (known.has(text.toLowerCase())) return []
      const close = nearest(text, names)
      const remedy = close === undefined ? 'write the id or the name of one' : `did you mean ${close}?`
      return [
        `sinks[${index}].${path}[${at}] ${JSON.stringify(zone)} is not a zone that is shipped, so it has no effect; ${remedy}`,
      ]
    })
  })
}

/** Warns of words in `where` and `sample` that no event is known to have. */
export function unknownWordWarnings({ sinks }: Pick<Config, 'sinks'>): string[] {
  return sinks.flatMap(({ where = {}, sample = {} }, index) => {
    const told = (path: string, kind: WordKind, word: string) => {
      const why = unknownWord(kind, word)
      return why === undefined ? [] : [`sinks[${index}].${path} ${JSON.stringify(word)} ${why}`]
    }
    const lists = (['actions', 'severities', 'countries'] as const).flatMap((kind) => {
      const given = where[kind] ?? []
      const [list, path] = 'not' in given ? [given.not, `where.${kind}.not`] : [given, `where.${kind}`]
      return list.flatMap((word, at) => told(`${path}[${at}]`, kind, word))
    })
    return [...lists, ...Object.keys(sample).flatMap((word) => told('sample', 'actions', word))]
  })
}

/** Warns of a file that other users can read, with secrets in it as plain text. */
export function readableSecretsWarnings({ path, label, value }: SourceFile, shape: Shape): string[] {
  const secrets = literalSecrets(value, shape, [])
  const [first] = secrets
  if (path === undefined || first === undefined) return []
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o004) === 0) return []
  const more = secrets.length > 1 ? ` and ${secrets.length - 1} more` : ''
  const octal = (mode & 0o777).toString(8).padStart(4, '0')
  return [
    `${label} has mode ${octal}, so that other users of this host can read ${pathText(first)}${more}; ` +
      'run chmod 600 on it, or keep the secret in a file of its own (…File)',
  ]
}

/** Where secrets are written as they are, without a template. */
function literalSecrets(value: unknown, shape: Shape, path: Path): Path[] {
  if (typeof value === 'string') {
    if (isTemplate(value)) return []
    const kind = scalarForm(shape)?.['x-marks']?.kind
    const isSecret = kind === 'secret' || (kind === 'url' && (URL.parse(value)?.password ?? '') !== '')
    return isSecret ? [path] : []
  }
  const form = formFor(shape, value)
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) => literalSecrets(item, form?.items ?? {}, [...path, index]))
  if (!isPlainObject(value) || form === undefined) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const others = form.additionalProperties
    const field = property(form, key) ?? (typeof others === 'object' ? others : {})
    return literalSecrets(inner, field, [...path, key])
  })
}

function ofSink(sink: SinkConfig, index: number): string[] {
  if (!holdsSecret(sink)) return []
  const ofSetting = (name: string, url: string | undefined, what: string) =>
    url === undefined ? [] : warningOf(`sinks[${index}].${name}`, url, `${what} of sink ${sink.name}`)
  return [
    ...ofSetting('url', 'url' in sink ? sink.url : undefined, 'the credentials'),
    ...ofSetting('loginUrl', 'loginUrl' in sink ? sink.loginUrl : undefined, 'the client secret'),
  ]
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
