import { Document, isCollection, type Node, stringify, YAMLMap, YAMLSeq } from 'yaml'
import { Secret } from '../domain/text/secret.ts'
import { type Path, pathText, valueAt } from './errors.ts'
import { fileShape } from './file-shape.ts'
import type { Loaded } from './load.ts'
import { type Config, defaultSink } from './schema.ts'
import { formFor, forms, isPlainObject, scalarForm, type Shape } from './shape.ts'
import { maskUrl, unresolvedHost } from './complaints.ts'
import { defaultStateUrl } from './state.ts'

/** The settings in force as YAML, each with its origin as a comment. Secrets are masked. */
export function effectiveYaml({ reading, config, file }: Loaded): string {
  const document = new Document(undefined, { version: '1.2' })
  const derived = derivedFrom(config)
  document.contents = nodeOf(reading.written, fileShape, []) as typeof document.contents
  document.commentBefore = file === undefined ? ' no file' : ` file: ${file}`
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })

  function nodeOf(given: unknown, shape: Shape, path: Path): Node | undefined {
    // A default that is an object stands for the defaults inside it.
    const value =
      given ?? (isPlainObject(shape.default) ? {} : (derived.get(pathText(path)) ?? shape.default))
    if (value === undefined) return undefined
    if (isPlainObject(value)) return mapOf(value, formFor(shape, value) ?? {}, path)
    if (!Array.isArray(value) || value.every((item) => typeof item !== 'object' || item === null))
      return leafOf(value, shape, path)
    const items = forms(shape).find((form) => form.items !== undefined)?.items ?? {}
    const list = new YAMLSeq()
    list.items = value.map((item: unknown, index) => nodeOf(item, items, [...path, index]))
    return list
  }

  function mapOf(object: Record<string, unknown>, form: Shape, path: Path): Node {
    const { properties = {}, additionalProperties } = form
    const free = typeof additionalProperties === 'object' ? additionalProperties : {}
    const map = new YAMLMap()
    for (const key of new Set([...Object.keys(properties), ...Object.keys(object)])) {
      // The file name is shown instead of the secret that was read from it.
      if (object[key] instanceof Secret && typeof object[`${key}File`] === 'string') continue
      const node = nodeOf(object[key], properties[key] ?? free, [...path, key])
      if (node !== undefined) map.add(document.createPair(key, node))
    }
    return map
  }

  function leafOf(value: unknown, shape: Shape, path: Path): Node {
    const at = pathText(path)
    const node = document.createNode(shownValue(value, shape, at)) as Node
    const isGiven = valueAt(reading.written, path) !== undefined
    const { source, where = [] } = isGiven ? reading.originOf(path) : { source: 'default' }
    const came = [source, where].flat().join(' ')
    const notes = [reading.unresolved.get(at) ?? [], shape['x-marks']?.note ?? []]
    node.comment = ` ${[came, ...notes].flat().join('; ')}`
    if (isCollection(node)) node.flow = true
    return node
  }

  function shownValue(value: unknown, shape: Shape, at: string): unknown {
    if (value instanceof Secret) return value.isResolved ? '***' : 'unresolved'
    if (typeof value !== 'string') return value
    if (value.endsWith(unresolvedHost) && reading.unresolved.has(at)) return 'unresolved'
    if (scalarForm(shape)?.['x-marks']?.kind !== 'url') return value
    // Where a secret file was inserted, only the scheme and the host are certain to hold no secret.
    if (reading.templates.get(at)?.includes('${file:') !== true) return maskUrl(value)
    const url = URL.parse(value)
    return url === null ? '***' : `${url.protocol}//${url.host}/***`
  }
}

/** Defaults that depend on other settings. */
function derivedFrom({ poll, state }: Config): Map<string, unknown> {
  return new Map<string, unknown>([
    ['poll.firstRunDays', poll.firstRunDays],
    ['poll.settleAfterHours', poll.settleAfterHours],
    ['sinks', [defaultSink]],
    ...(state.kind === 'sqlite' ? [['state.url', defaultStateUrl] as const] : []),
  ])
}

/** A JSON value, such as settings that a file may have. */
export function yamlText(value: unknown): string {
  return stringify(value, { lineWidth: 0 })
}
