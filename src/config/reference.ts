import { type Path, pathText } from './path.ts'
import { ConfigFile } from './schema.ts'
import { environmentName, settingsOf } from './settings.ts'
import { type Shape, forms, isScalar, shapeOf } from './shape.ts'
import { typeText } from './type-text.ts'

/** One setting as the reference names it. */
export interface Entry {
  /** `poll.everySeconds`; of items of lists `zones[].name`, of one kind of sink `sinks[type=file].path`. */
  readonly path: string
  /** Absent inside of lists, which the environment gives whole. */
  readonly environment?: string
  readonly takes: string
  /** As it would be written; absent where there is none. */
  readonly default?: string
  readonly description: string
}

const shape = shapeOf(ConfigFile)

/** Every setting, in the order of the schema. */
export function configEntries(): Entry[] {
  return entriesIn(shape, '', [])
}

/** `environment` is the path from the top, or undefined inside of lists. */
function entriesIn(object: Shape, prefix: string, environment: Path | undefined): Entry[] {
  return Object.entries(object.properties ?? {}).flatMap(([key, field]) =>
    entriesOf(field, prefix === '' ? key : `${prefix}.${key}`, environment && [...environment, key]),
  )
}

function entriesOf(field: Shape, path: string, environment: Path | undefined): Entry[] {
  const all = forms(field)
  const own = all.some((form) => form.properties === undefined && form.type !== 'null')
  const entries = own ? [entryOf(field, path, environment)] : []
  for (const form of all) {
    if (form.properties !== undefined) entries.push(...entriesIn(form, path, environment))
    for (const item of form.items === undefined ? [] : forms(form.items))
      if (item.properties !== undefined)
        entries.push(...entriesIn(item, `${path}[${tagOf(item)}]`, undefined))
  }
  return entries
}

function tagOf({ properties = {} }: Shape): string {
  const tag = Object.entries(properties).find(([, property]) => property.const !== undefined)
  return tag === undefined ? '' : `${tag[0]}=${String(tag[1].const)}`
}

function entryOf(field: Shape, path: string, environment: Path | undefined): Entry {
  return {
    path,
    ...(environment === undefined ? {} : { environment: environmentName(environment) }),
    takes:
      field.items !== undefined && forms(field.items).length > 1 && !hasScalar(field.items)
        ? 'list'
        : typeText(field),
    ...(field.default === undefined || isEmptyObject(field.default) ? {} : { default: defaultText(field) }),
    description:
      field.description ?? forms(field).find((form) => form.description !== undefined)?.description ?? '',
  }
}

/** As it would be written: text without quotes unless it needs them. */
function defaultText({ default: value, 'x-marks': mark }: Shape): string {
  return typeof value === 'string' && mark?.kind !== 'mode' ? value : JSON.stringify(value)
}

function hasScalar(shape: Shape): boolean {
  return forms(shape).some(isScalar)
}

/** The reference of all settings as a Markdown table. */
export function configMarkdown(): string {
  const rows = configEntries().map(({ path, environment, takes, default: value, description }) =>
    [
      code(path),
      environment === undefined ? '' : code(environment),
      takes,
      value === undefined ? '' : code(value),
      description,
    ]
      .map((cell) => cell.replaceAll('|', '\\|'))
      .join(' | '),
  )
  const head = ['Setting | Environment | Takes | Default | Meaning', '--- | --- | --- | --- | ---']
  return [...head, ...rows].map((row) => `| ${row} |`).join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}

/** Every environment name that gives a setting, with the setting's path. */
export function environmentNames(): { readonly name: string; readonly path: string }[] {
  return settingsOf(shape).map(({ environment, path }) => ({ name: environment, path: pathText(path) }))
}

/** JSON Schema of the file, for editors and for checks before a deployment. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'shieldlog.yaml',
    description: 'Configuration of shieldlog.',
    ...clean(shape),
    $defs: {
      template: {
        type: 'string',
        pattern: '\\$\\{',
        description: 'Text that holds ${NAME} or ${file:/path}',
      },
    },
  }
}

const template = { $ref: '#/$defs/template' }

/** Without our own marks and empty defaults; a template may stand where a value is not any text. */
function clean(part: Shape): Record<string, unknown> {
  const { 'x-marks': _marks, properties, items, additionalProperties, anyOf, oneOf, required, ...rest } = part
  const plain = Object.fromEntries(
    Object.entries(rest).filter(([key]) => key !== '$schema' && key !== 'default'),
  )
  const cleaned: Record<string, unknown> = {
    ...plain,
    ...(part.default === undefined || isEmptyObject(part.default) ? {} : { default: part.default }),
    ...(required === undefined ? {} : { required }),
    ...(properties === undefined ? {} : { properties: mapValues(properties) }),
    ...(items === undefined ? {} : { items: clean(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: clean(additionalProperties) }
      : {}),
    ...(additionalProperties === false ? { additionalProperties: false } : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(clean) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(clean) }),
  }
  if (!isScalar(part) || part.const !== undefined || part.type === 'null' || isFreeText(part)) return cleaned
  const { description, default: value, ...typed } = cleaned
  return {
    ...(description === undefined ? {} : { description }),
    ...(value === undefined ? {} : { default: value }),
    anyOf: [typed, template],
  }
}

function isFreeText({ type, pattern, enum: names }: Shape): boolean {
  return type === 'string' && pattern === undefined && names === undefined
}

function mapValues(properties: Readonly<Record<string, Shape>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([key, field]) => [key, clean(field)]))
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  )
}
