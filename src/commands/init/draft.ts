import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { coerce, isOurName } from '../../config/environment.ts'
import { ConfigErrors, isWithin } from '../../config/errors.ts'
import { fileShape } from '../../config/file-shape.ts'
import { loadConfig } from '../../config/load.ts'
import type { Needs } from '../../config/needs.ts'
import { yamlText } from '../../config/print.ts'
import type { Config } from '../../config/schema.ts'
import {
  formFor,
  forms,
  isPlainObject,
  objectForm,
  property,
  scalarForm,
  type Shape,
} from '../../config/shape.ts'
import { isTemplate, literal } from '../../config/templates.ts'
import { Failure } from '../../domain/failure.ts'
import { Secret } from '../../domain/text/secret.ts'
import { systemCode, systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { UsageError } from '../command.ts'

/** Sections of the configuration, or settings of a sink, with each secret as a Secret. */
export type Draft = Readonly<Record<string, unknown>>

/** A place that events can go to: a kind of sink, or a preset of one. */
export interface Destination {
  /** As `--destination` takes it. */
  readonly name: string
  readonly label: string
  /** The settings that make a sink this one. */
  readonly fixed: Readonly<Record<string, string>>
  readonly form: Shape
}

/** What is no preset, in the order of the menu: presets come in the place of `http`, by their titles. */
const labels: Readonly<Record<string, string>> = {
  file: 'files',
  s3: 'Amazon S3',
  http: '',
  syslog: 'syslog',
  kafka: 'Apache Kafka',
  stdout: 'standard output',
}

/** Every destination of the configuration's schema: a new preset or kind of sink needs no change here. */
export function destinations(): Destination[] {
  const order = Object.keys(labels)
  return forms(property(fileShape, 'sinks')?.items ?? {})
    .map((form): Destination => {
      const [type, preset] = ['type', 'preset'].map((key) => property(form, key)?.const)
      const fixed = { type: String(type), ...(typeof preset === 'string' && { preset }) }
      const name = fixed.preset ?? fixed.type
      return { name, label: form.title ?? labels[name] ?? name, fixed, form }
    })
    .toSorted((left, right) => order.indexOf(left.fixed['type']!) - order.indexOf(right.fixed['type']!))
}

/** One setting: of the sink, or of a section of the configuration. */
export interface Assignment {
  readonly path: readonly string[]
  readonly text: string
  /** Typed without being shown: a password may hold `${`, and no error may name what follows it. */
  readonly isHidden?: boolean | undefined
}

/** Parses `PATH=VALUE`. Throws UsageError. */
export function parseAssignment(text: string): Assignment {
  const [, path = '', value = ''] = /^([\w-]+(?:\.[\w-]+)*)=(.*)$/s.exec(text) ?? []
  if (path === '') throw new UsageError('--set takes PATH=VALUE, such as index=waf or poll.everySeconds=10')
  if (/^(zones|sinks|accounts)\b/.test(path))
    throw new UsageError(`--set ${path}: use --zones, or name a setting of the sink alone, such as index=waf`)
  return { path: path.split('.'), text: value }
}

/** True where the first name is a section of the configuration, not a setting of the sink. */
export function isOfSection({ path: [first = ''] }: Assignment): boolean {
  return property(fileShape, first) !== undefined
}

/** Sets a setting. What the shape does not have stays text, for the schema to refuse. Throws UsageError. */
export function assign(
  draft: Draft,
  { path, text, isHidden = false }: Assignment,
  shape: Shape,
  cwd: string,
): Draft {
  const field = path.reduce((around, key) => {
    const { additionalProperties: free, ...form } = objectForm(around) ?? formFor(around, {}) ?? {}
    return property(form, key) ?? (typeof free === 'object' ? free : {})
  }, shape)
  const kind = scalarForm(field)?.['x-marks']?.kind
  if (!isHidden && isTemplate(text)) return withValue(draft, path, text)
  if (kind === 'secret') return withValue(draft, path, new Secret(text))
  if (kind === 'path') return withValue(draft, path, resolve(literal(cwd), text))
  const { value, errors } = coerce(text, field, '--set')
  if (errors.length > 0) throw new UsageError(`${path.join('.')} ${errors[0]!.problem}`)
  return withValue(draft, path, value)
}

function withValue(held: Draft, [key = '', ...rest]: readonly string[], value: unknown): Draft {
  const inner = isPlainObject(held[key]) ? held[key] : {}
  return { ...held, [key]: rest.length === 0 ? value : withValue(inner, rest, value) }
}

/** Undefined where other settings of the sink are wrong than `only` these. Throws UsageError with the errors. */
export function loadDraft(
  draft: Draft,
  cwd: string,
  { needs = 'zones', only }: { readonly needs?: Needs; readonly only?: readonly string[] } = {},
): Config | undefined {
  const text = JSON.stringify(withoutSecrets(draft, (key, secret) => [key, literal(secret.reveal())]))
  // Settings of the environment would hide what is wrong with the draft.
  const isUsed = (name: string) =>
    !isOurName(name) || text.includes(`\${${name}`) || name.includes('_API_BASE_URL')
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => isUsed(name)))
  try {
    return loadConfig({ draft: text, env, cwd, needs }).config
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    const told = error.errors
      .map(({ path, ...rest }) => ({ ...rest, path: path.replace(/^sinks\[0\]\./, '') }))
      .filter(({ path }) => only === undefined || only.some((key) => isWithin(path, key)))
      .map(({ path, value, problem, remedy }) => {
        const how = only === undefined && problem === 'is missing' ? ` (--set ${path}=…)` : ''
        return printable(`${path}${value === undefined ? '' : ` ${value}`} ${problem}; ${remedy}${how}`)
      })
    if (told.length > 0) throw new UsageError(told.join('\n'))
    return undefined
  }
}

type Replace = (
  key: string,
  secret: Secret,
  around: readonly string[],
) => readonly [key: string, value: string]

/** The value with each secret in it replaced. */
function withoutSecrets(value: unknown, replace: Replace, path: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, replace, path))
  if (!isPlainObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) =>
    inner instanceof Secret
      ? replace(key, inner, path)
      : ([key, withoutSecrets(inner, replace, [...path, key])] as const),
  )
  return Object.fromEntries(entries)
}

export function hasKeyInEnvironment(): boolean {
  return (process.env['SHIELDLOG_API_ACCESS_KEY'] ?? '') !== ''
}

const header =
  '# Written by shieldlog init. "shieldlog config print" shows every setting, with its default.\n'

const comments: Readonly<Record<string, string>> = {
  api: 'The access key of the bunny.net account. Its file is read again when the API refuses the key.',
  zones:
    'Shield zones whose events are shipped: ids or { id, name }, or all, or { all: true, exclude: [103] }.',
  state: 'What was shipped so far. If it is lost, everything that the API still has is shipped again.',
  sinks: 'Where events go. Each sink has a name, which must stay the same.',
}

interface NewFile {
  readonly path: string
  readonly text: string
}

export const keyFile = 'access-key'

/** The files that the draft becomes: one for each secret, and the configuration last. */
export function filesOf(draft: Draft, destination: string, file: string): NewFile[] {
  const secrets: NewFile[] = []
  const placed = withoutSecrets(draft, (key, secret, [section = '', ...around]) => {
    const words = [section === 'sinks' ? destination : section, ...around, key].map(fileWord)
    // Git ignores names that end in `.secret` in a checkout.
    const path = resolve(file, '..', section === 'api' ? keyFile : `${words.join('-')}.secret`)
    secrets.push({ path, text: `${secret.reveal()}\n` })
    // A header has no setting for a file.
    return around.at(-1) === 'headers' ? [key, `\${file:${literal(path)}}`] : [`${key}File`, literal(path)]
  }) as Draft
  const sections = Object.entries(placed).map(([name, section]) => {
    const comment = comments[name] === undefined ? '' : `# ${comments[name]}\n`
    return `${comment}${yamlText({ [name]: section })}`
  })
  return [...secrets, { path: file, text: [header, ...sections].join('\n') }]
}

/** `X-Token` → `x-token`, `apiKey` → `api-key`. */
function fileWord(key: string): string {
  return key.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
}

/** Throws Failure where the file exists. */
export function refuseExisting(path: string, remedy: string): void {
  if (!existsSync(path)) return
  const why = `${printable(path)} exists, and init overwrites nothing. ${remedy}`
  throw new Failure('stop', 'unwritable', why)
}

/** Writes all files, readable by their owner only, or none of them. Throws Failure. */
export function writeNewFiles(files: readonly NewFile[]): void {
  const written: string[] = []
  for (const { path, text } of files)
    try {
      writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true })
      written.push(path)
    } catch (cause) {
      // What was there before stays; what was written in part does not.
      const isThere = systemCode(cause) === 'EEXIST'
      for (const made of isThere ? written : [...written, path]) rmSync(made, { force: true })
      const remedy = `${isThere ? 'Remove it, or name' : 'Name'} another place with --file.`
      const why = `${printable(path)} cannot be written: ${systemErrorText(cause)}. ${remedy}`
      throw new Failure('stop', 'unwritable', why, { cause })
    }
}
