import { readFileSync, statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { systemCode } from './expand.ts'
import { ConfigErrors } from './config-errors.ts'
import { type Parsed, parseYaml } from './yaml-text.ts'

export interface SourceFile {
  /** Absolute. */
  readonly path: string
  /** As short as it can be told apart, for messages. */
  readonly label: string
  readonly value: unknown
  readonly lines: Parsed['lines']
}

const usualPlaces = ['./shieldlog.yaml', '/etc/shieldlog/shieldlog.yaml']
const sizeLimit = 4_194_304

/**
 * Reads the file that was named, or else the first one that stands in a usual place; undefined where there is none.
 * Throws ConfigErrors for a file that cannot be read or understood, since nothing else can be judged without it.
 */
export function readSourceFile(named: string | undefined, cwd: string): SourceFile | undefined {
  if (named !== undefined) return readAt(resolve(cwd, named), cwd)
  for (const place of usualPlaces) {
    const path = resolve(cwd, place)
    if (exists(path)) return readAt(path, cwd)
  }
  return undefined
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    // A file that is there but may not be read is an error of its own; a folder that may not be entered holds none.
    return systemCode(error) !== 'EACCES' && systemCode(error) !== 'ENOTDIR'
  }
}

function readAt(path: string, cwd: string): SourceFile {
  const short = relative(cwd, path)
  const label = short.startsWith('..') || short === '' ? path : short
  const { value, lines, errors } = parseYaml(readText(path, label), label)
  if (errors.length > 0) throw new ConfigErrors(errors)
  return { path, label, value: value ?? {}, lines }
}

function readText(path: string, label: string): string {
  const remedy = 'name a YAML file that this user may read'
  try {
    const { size } = statSync(path)
    if (size > sizeLimit)
      throw new ConfigErrors([{ path: '', problem: 'is larger than 4 MiB', remedy, where: label }])
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    if (error instanceof ConfigErrors) throw error
    const problem = `cannot be read: ${systemCode(error)}`
    throw new ConfigErrors([{ path: '', problem, remedy, where: label }])
  }
}
