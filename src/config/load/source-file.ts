import { readFileSync, statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { ConfigErrors } from '../schema/config-errors.ts'
import { type Parsed, parseYaml } from './yaml-text.ts'
import { systemCode, systemErrorText } from '../../domain/text/system-error.ts'

export interface SourceFile {
  /** Absolute; absent for text that stands in no file. */
  readonly path?: string
  /** The shortest unambiguous form, for messages. */
  readonly label: string
  readonly value: unknown
  readonly lines: Parsed['lines']
}

const usualPlaces = ['./shieldlog.yaml', '/etc/shieldlog/shieldlog.yaml']
const sizeLimit = 4_194_304

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
  for (const path of placesIn(cwd)) if (exists(path)) return readAt(path, cwd)
  return undefined
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    // A file without read permission is an error; a folder without search permission counts as empty.
    return systemCode(error) !== 'EACCES' && systemCode(error) !== 'ENOTDIR'
  }
}

function readAt(path: string, cwd: string): SourceFile {
  const short = relative(cwd, path)
  const label = short.startsWith('..') || short === '' ? path : short
  return { path, ...parseSource(readText(path, label), label) }
}

/** Throws ConfigErrors. */
export function parseSource(text: string, label: string): SourceFile {
  const { value, lines, errors } = parseYaml(text, label)
  if (errors.length > 0) throw new ConfigErrors(errors)
  return { label, value: value ?? {}, lines }
}

function readText(path: string, label: string): string {
  const remedy = 'use a YAML file that this user can read'
  try {
    const { size } = statSync(path)
    if (size > sizeLimit)
      throw new ConfigErrors([{ path: '', problem: 'is larger than 4 MiB', remedy, where: label }])
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    if (error instanceof ConfigErrors) throw error
    const problem = `cannot be read: ${systemErrorText(error)}`
    throw new ConfigErrors([{ path: '', problem, remedy, where: label }])
  }
}
