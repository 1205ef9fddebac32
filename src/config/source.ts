import { isUtf8 } from 'node:buffer'
import { existsSync, readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { type ConfigError, ConfigErrors } from './errors.ts'
import { systemErrorText } from '../domain/text/system-error.ts'
import { isPlainObject } from './shape.ts'
import { LineCounter, type Node, parseDocument, type YAMLError } from 'yaml'

export interface SourceFile extends Pick<Parsed, 'value' | 'lineOf'> {
  /** Absolute; absent for settings that stand in no file. */
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
  const { value, lineOf, errors } = parseYaml(readText(path, label), label)
  if (errors.length > 0) throw new ConfigErrors(errors)
  return { path, label, value: isPlainObject(value) ? withoutShared(value) : (value ?? {}), lineOf }
}

/** Without the top-level keys that begin with `x-`, as in Compose: they hold what other places take by an alias. */
function withoutShared(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !key.startsWith('x-')))
}

function readText(path: string, label: string): string {
  const refused = (problem: string, remedy: string, where = label) =>
    new ConfigErrors([{ path: '', problem, remedy, where }])
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw refused(`cannot be read: ${systemErrorText(error)}`, 'use a YAML file that this user can read')
  }
  const text = new TextDecoder().decode(bytes)
  if (isUtf8(bytes)) return text
  const line = text.slice(0, text.indexOf('\uFFFD')).split('\n').length
  throw refused('is not UTF-8', 'save the file as UTF-8', `${label}:${line}`)
}

export interface Parsed {
  readonly value: unknown
  /** The line of the value at a place, counted from 1; undefined where there is none. */
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined
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
      // `<<` takes in the keys of another map.
      merge: true,
      // As in the value, so that a place is found by them.
      stringKeys: true,
    })
    const found = [...document.errors, ...document.warnings]
    // Errors after the first syntax error are unreliable; duplicate keys are always reported.
    const first = found.find(({ code }) => code !== 'DUPLICATE_KEY')
    const told = found.filter((one) => one === first || one.code === 'DUPLICATE_KEY')
    if (found.length > 0) return failed(told.map((one) => yamlError(one, source, counter)))
    const lineOf = (path: readonly PropertyKey[]) => {
      const node = document.getIn(path, true) as Node | undefined
      return node?.range ? counter.linePos(node.range[0]).line : undefined
    }
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown, lineOf, errors: [] }
  } catch {
    const problem = 'has an alias (*…) without its anchor, too many aliases, or too many levels'
    return failed([{ path: '', problem, remedy: 'write the values instead of the aliases', where: source }])
  }
}

function failed(errors: readonly ConfigError[]): Parsed {
  return { value: undefined, lineOf: () => undefined, errors }
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
