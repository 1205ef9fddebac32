import { isDeepStrictEqual } from 'node:util'
import type { Path } from '../../src/config/errors.ts'
import { ConfigFile } from '../../src/config/schema.ts'
import { environmentName } from '../../src/config/environment.ts'
import { type Shape, forms, isPlainObject, isScalar, shapeOf, typeText } from '../../src/config/shape.ts'
import { code, markdownTable } from './tables.ts'

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
    const items = form.items === undefined ? [] : forms(form.items)
    const objects = items.filter(({ properties }) => properties !== undefined)
    const kinds = Map.groupBy(objects, ({ properties }) => properties?.['type']?.const)
    for (const [type, kind] of kinds) entries.push(...entriesOfKind(kind, path, type))
  }
  return entries
}

/** Settings that all presets of a kind of sink have in the same way are listed once, for the kind. */
function entriesOfKind(kind: readonly Shape[], path: string, type: unknown): Entry[] {
  const lists = kind.map((item) => entriesIn(item, '', undefined))
  const isEverywhere = (entry: Entry) =>
    kind.length > 1 && lists.every((list) => list.some((other) => isDeepStrictEqual(other, entry)))
  const below = (tag: string) => (entry: Entry) => ({ ...entry, path: `${path}[${tag}].${entry.path}` })
  return [
    ...lists[0]!.filter(isEverywhere).map(below(`type=${String(type)}`)),
    ...lists.flatMap((list, index) =>
      list.filter((entry) => !isEverywhere(entry)).map(below(tagOf(kind[index]!))),
    ),
  ]
}

/** The most particular tag: the preset of an http sink, else the type of a sink. */
function tagOf({ properties = {} }: Shape): string {
  const tag = Object.entries(properties).findLast(([, property]) => property.const !== undefined)
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

/** The reference of all settings: a heading and a Markdown table for each part of the file. */
export function configMarkdown(): string {
  const parts = Map.groupBy(configEntries(), ({ path }) => partOf(path))
  return [...parts].map(([part, entries]) => `## ${part}\n\n${tableOf(entries)}`).join('\n\n')
}

/** `poll` of `poll.everySeconds`, `sinks[type=file]` of `sinks[type=file].path`. */
function partOf(path: string): string {
  const [first = ''] = path.split('.')
  return first.startsWith('sinks') ? first : first.replace(/\[.*/, '')
}

function tableOf(entries: readonly Entry[]): string {
  const rows = entries.map(({ path, environment, takes, default: value, description }) => [
    code(path),
    environment === undefined ? '' : code(environment),
    takes,
    value === undefined ? '' : code(value),
    description,
  ])
  return markdownTable(['Setting', 'Environment', 'Takes', 'Default', 'Meaning'], rows)
}

function isEmptyObject(value: unknown): boolean {
  return isPlainObject(value) && Object.keys(value).length === 0
}
