import { SinkConfig, ConfigFile } from '../../config/schema.ts'
import {
  forms,
  property,
  shapeOf,
  type Shape,
  formFor,
  isPlainObject,
  objectForm,
  scalarForm,
} from '../../config/shape.ts'
import { resolve } from 'node:path'
import { coerce } from '../../config/layers.ts'
import { isTemplate } from '../../config/templates.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { UsageError } from '../command.ts'
import { KeptSecret, literal } from './document.ts'

/** A place that events can go to: a kind of sink, or a preset of one. */
export interface Destination {
  /** As `--destination` takes it. */
  readonly name: string
  /** For people. */
  readonly label: string
  /** The settings that make a sink this one. */
  readonly fixed: Readonly<Record<string, string>>
  /** The settings of such a sink. */
  readonly form: Shape
}

/** What is no preset, in the order of the menu: presets come in the place of `http`, by their titles. */
const labels: Readonly<Record<string, string>> = {
  file: 'files',
  http: '',
  syslog: 'syslog',
  stdout: 'standard output',
}

/** Every destination of the configuration's schema: a new preset or kind of sink needs no change here. */
export function destinations(): Destination[] {
  const all = forms(shapeOf(SinkConfig)).flatMap(destinationsOf)
  const order = Object.keys(labels)
  const place = ({ fixed }: Destination) => order.indexOf(fixed['type'] ?? '')
  return all.toSorted((left, right) => place(left) - place(right))
}

function destinationsOf(form: Shape): Destination[] {
  const type = nameOf(property(form, 'type'))
  if (type === undefined) return []
  const preset = nameOf(property(form, 'preset'))
  if (preset !== undefined)
    return [{ name: preset, label: form.title ?? preset, fixed: { type, preset }, form }]
  return [{ name: type, label: labels[type] ?? type, fixed: { type }, form }]
}

function nameOf(field: Shape | undefined): string | undefined {
  return typeof field?.const === 'string' ? field.const : undefined
}

/** One `--set`: a setting of the sink, or of a section of the configuration. */
export interface Assignment {
  readonly path: readonly string[]
  readonly text: string
  /** Typed without being shown: a password may hold `${`, and no error may name what follows it. */
  readonly isHidden?: true
}

/** Parses `PATH=VALUE`. Throws UsageError. */
export function parseAssignment(text: string): Assignment {
  const end = text.indexOf('=')
  const path = text.slice(0, Math.max(0, end)).split('.')
  if (path.some((step) => !/^[\w-]+$/.test(step)))
    throw new UsageError(`--set takes PATH=VALUE, such as index=waf or poll.everySeconds=10`)
  return { path, text: text.slice(end + 1) }
}

const sections = shapeOf(ConfigFile)
/** What other options of `init` give. */
const elsewhere: Readonly<Record<string, string>> = {
  zones: 'use --zones',
  sinks: 'name the setting of the sink alone, such as index=waf',
  accounts: 'init writes one account; add others to the file',
}

/** True where the first name is a section of the configuration, not a setting of the sink. Throws UsageError. */
export function isOfSection({ path: [first = ''] }: Assignment): boolean {
  const remedy = elsewhere[first]
  if (remedy !== undefined) throw new UsageError(`--set ${first}: ${remedy}`)
  return property(sections, first) !== undefined
}

/** Sets a section's setting. Throws UsageError. */
export function setInSection(
  document: Readonly<Record<string, unknown>>,
  assignment: Assignment,
  cwd: string,
): Record<string, unknown> {
  const shape = shapeAt(sections, assignment, 'the configuration')
  return put(document, assignment.path, valueOf(assignment, shape, '', cwd))
}

/** Sets a setting of the sink. Throws UsageError. */
export function setInSink(
  sink: Readonly<Record<string, unknown>>,
  assignment: Assignment,
  { destination, cwd }: { readonly destination: Destination; readonly cwd: string },
): Record<string, unknown> {
  const shape = shapeAt(destination.form, assignment, `destination ${destination.name}`)
  return put(sink, assignment.path, valueOf(assignment, shape, `${destination.name}-`, cwd))
}

function shapeAt(root: Shape, { path }: Assignment, whose: string): Shape {
  let held = root
  for (const step of path) {
    const form = objectForm(held) ?? formFor(held, {}) ?? {}
    const own = property(form, step)
    const free = typeof form.additionalProperties === 'object' ? form.additionalProperties : undefined
    const next = own ?? free
    if (next === undefined) {
      const meant = nearest(step, Object.keys(form.properties ?? {}))
      const remedy = meant === undefined ? '' : `; did you mean ${meant}?`
      throw new UsageError(`--set ${printable(path.join('.'))}: ${whose} has no such setting${remedy}`)
    }
    held = next
  }
  return held
}

/** A secret is written to a separate file, unless it is a template; a path becomes absolute; other text gets its type. */
function valueOf({ path, text, isHidden }: Assignment, shape: Shape, prefix: string, cwd: string): unknown {
  const kind = scalarForm(shape)?.['x-marks']?.kind
  if (isHidden === undefined && isTemplate(text)) return text
  if (kind === 'secret') return new KeptSecret(`${prefix}${fileName(path)}.secret`, text)
  if (kind === 'path') return resolve(literal(cwd), text)
  const { value, errors } = coerce(text, shape, '--set')
  if (errors.length > 0) throw new UsageError(`--set ${path.join('.')}: ${errors[0]!.problem}`)
  return value
}

/** `headers.X-Token` → `x-token`, `apiKey` → `api-key`. The file also ends in `.secret`, which git ignores in a checkout. */
function fileName(path: readonly string[]): string {
  const words = path.filter((step) => step !== 'headers')
  return words.map((step) => step.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()).join('-')
}

function put(
  target: Readonly<Record<string, unknown>>,
  [first = '', ...rest]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  if (rest.length === 0) return { ...target, [first]: value }
  const inner = target[first]
  return { ...target, [first]: put(isPlainObject(inner) ? inner : {}, rest, value) }
}
