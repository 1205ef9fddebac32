import { resolve } from 'node:path'
import { fileShape } from '../../config/file-shape.ts'
import { loadConfig } from '../../config/load.ts'
import {
  scalarForm,
  formFor,
  forms,
  isPlainObject,
  objectForm,
  property,
  type Shape,
} from '../../config/shape.ts'
import { literal, isTemplate } from '../../config/templates.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { Secret } from '../../domain/text/secret.ts'
import { UsageError } from '../../terminal/io.ts'
import { coerce, isOurName } from '../../config/environment.ts'
import { ConfigErrors, isWithin } from '../../config/errors.ts'
import type { Needs } from '../../config/needs.ts'
import type { Config } from '../../config/schema.ts'

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
  'azure-blob': 'Azure Blob Storage',
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

/** What sets a setting. What the shape does not have stays text, for the schema to refuse. Throws UsageError. */
export function assignTo(shape: Shape) {
  return (draft: Draft, { path, text }: Assignment): Draft => {
    const field = path.reduce((around, key) => {
      const { additionalProperties: free, ...form } = objectForm(around) ?? formFor(around, {}) ?? {}
      return property(form, key) ?? (typeof free === 'object' ? free : {})
    }, shape)
    const kind = scalarForm(field)?.['x-marks']?.kind
    if (isTemplate(text)) return withValue(draft, path, text)
    if (kind === 'secret') return withValue(draft, path, new Secret(text))
    if (kind === 'path') return withValue(draft, path, literal(resolve(text)))
    const { value, errors } = coerce(text, field, '--set')
    if (errors.length > 0) throw new UsageError(`${path.join('.')} ${errors[0]!.problem}`)
    return withValue(draft, path, value)
  }
}

export function withValue(held: Draft, [key = '', ...rest]: readonly string[], value: unknown): Draft {
  const inner = isPlainObject(held[key]) ? held[key] : {}
  return { ...held, [key]: rest.length === 0 ? value : withValue(inner, rest, value) }
}

/** Undefined where other settings of the sink are wrong than `only` these. Throws UsageError with the errors. */
export function loadDraft(
  draft: Draft,
  { needs = 'zones', only }: { readonly needs?: Needs; readonly only?: readonly string[] } = {},
): Config | undefined {
  // Settings of the environment would hide what is wrong with the draft.
  const isUsed = (name: string) =>
    !isOurName(name) || JSON.stringify(draft).includes(`\${${name}`) || name.includes('_API_BASE_URL')
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => isUsed(name)))
  try {
    return loadConfig({ draft, env, needs }).config
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
