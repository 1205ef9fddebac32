import { existsSync, readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { type ConfigError, ConfigErrors, type Path, pathText } from './errors.ts'
import { systemErrorText } from '../domain/text/system-error.ts'
import {
  LineCounter,
  type YAMLError,
  type Node,
  type ParsedNode,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
} from 'yaml'

export interface SourceFile extends Pick<Parsed, 'value' | 'lines'> {
  /** Absolute; absent for text that stands in no file. */
  readonly path?: string
  /** The shortest unambiguous form, for messages. */
  readonly label: string
}

const usualPlaces = ['./shieldlog.yaml', '/etc/shieldlog/shieldlog.yaml']

/** Where a file is looked for if none is named; without one of them, the environment alone counts. */
export function placesIn(cwd: string): string[] {
  return usualPlaces.map((place) => resolve(cwd, place))
}

/**
 * Reads the named file, or else the first that exists in a default place; undefined where there is none. Throws
 * ConfigErrors for a file that cannot be read or parsed, since nothing else can be checked without it.
 */
export function readSourceFile(named: string | undefined, cwd: string): SourceFile | undefined {
  if (named !== undefined) return readAt(resolve(cwd, named), cwd)
  // A file without read permission is an error; one that is in a folder without search permission counts as none.
  const found = placesIn(cwd).find((path) => existsSync(path))
  return found === undefined ? undefined : readAt(found, cwd)
}

function readAt(path: string, cwd: string): SourceFile {
  const short = relative(cwd, path)
  const label = short.startsWith('..') || short === '' ? path : short
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
    return { path, ...parseSource(text, label) }
  } catch (error) {
    if (error instanceof ConfigErrors) throw error
    const problem = `cannot be read: ${systemErrorText(error)}`
    throw new ConfigErrors([
      { path: '', problem, remedy: 'use a YAML file that this user can read', where: label },
    ])
  }
}

/** Throws ConfigErrors. */
export function parseSource(text: string, label: string): SourceFile {
  const { value, lines, errors } = parseYaml(text, label)
  if (errors.length > 0) throw new ConfigErrors(errors)
  return { label, value: value ?? {}, lines }
}

export interface Parsed {
  readonly value: unknown
  /** Line of each value, counted from 1, by path. */
  readonly lines: ReadonlyMap<string, number>
  readonly errors: readonly ConfigError[]
}

/** Parses YAML 1.2 (a superset of JSON). Errors name the line and never quote the text. Never throws. */
export function parseYaml(text: string, source: string): Parsed {
  const counter = new LineCounter()
  try {
    const document = parseDocument(text, {
      lineCounter: counter,
      prettyErrors: false,
      logLevel: 'error',
      schema: 'core',
      version: '1.2',
      uniqueKeys: true,
    })
    const found = [...document.errors, ...document.warnings]
    // Errors after the first syntax error are unreliable; duplicate keys are always reported.
    const first = found.find(({ code }) => code !== 'DUPLICATE_KEY')
    const told = found.filter((one) => one === first || one.code === 'DUPLICATE_KEY')
    if (found.length > 0) return failed(told.map((one) => yamlError(one, source, counter)))
    const lines = new Map<string, number>()
    collectLines(document.contents, [], counter, lines)
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown, lines, errors: [] }
  } catch {
    const problem = 'has an alias (*…) without its anchor, too many aliases, or too many levels'
    return failed([{ path: '', problem, remedy: 'write the values instead of the aliases', where: source }])
  }
}

function failed(errors: readonly ConfigError[]): Parsed {
  return { value: undefined, lines: new Map(), errors }
}

function yamlError({ code, pos }: YAMLError, source: string, counter: LineCounter): ConfigError {
  const { line } = counter.linePos(pos[0])
  const remedy = 'correct that line or the one before it; inside { } and [ ], ${…} must be in quotes'
  return {
    path: '',
    // The parser's own messages quote the source, which may hold secrets.
    problem: `is not valid YAML: ${code.toLowerCase().replaceAll('_', ' ')}`,
    remedy: code === 'DUPLICATE_KEY' ? 'remove one of the two' : remedy,
    where: `${source}:${line}`,
  }
}

function collectLines(
  node: Node | ParsedNode | null,
  path: Path,
  counter: LineCounter,
  lines: Map<string, number>,
) {
  if (node === null) return
  if (node.range) lines.set(pathText(path), counter.linePos(node.range[0]).line)
  if (isSeq<Node>(node))
    node.items.forEach((item, index) => collectLines(item, [...path, index], counter, lines))
  if (!isMap<Node, Node | null>(node)) return
  for (const { key, value } of node.items)
    if (isScalar(key)) collectLines(value ?? null, [...path, String(key.value)], counter, lines)
}
