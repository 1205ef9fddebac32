import { printable } from '../domain/text/terminal-text.ts'

/** One error in the configuration. */
export interface ConfigError {
  /** Where in the configuration: `sinks[0].url`. Empty for the file as a whole. */
  readonly path: string
  /** The value as written; absent for secrets and for values without a short form. */
  readonly value?: string
  readonly problem: string
  readonly remedy: string
  /** A file that it names is not there yet, or is empty. */
  readonly isAbsent?: boolean
  /** Where the value came from: a file and line, or an environment name. */
  readonly where?: string
}

/** An error without its place. */
export type Complaint = Omit<ConfigError, 'path' | 'where'>

/** Collects an error at a place. */
export type Report = (path: Path, complaint: Complaint) => undefined

/** All errors of a configuration together. */
export class ConfigErrors extends Error {
  readonly errors: readonly ConfigError[]
  /** Where a file was looked for, if there is none. */
  readonly searched: readonly string[]
  /** Nothing else is wrong than that files are not there yet, which may pass. */
  readonly mayPass: boolean

  constructor(errors: readonly ConfigError[], searched: readonly string[] = []) {
    const count = errors.length === 1 ? 'an error' : `${errors.length} errors`
    const lines = [`the configuration has ${count}:`, ...errors.map((error) => `  ${errorLine(error)}`)]
    if (searched.length > 0)
      lines.unshift(`no configuration file was found: looked for ${printable(searched.join(' and '))}`)
    super(lines.join('\n'))
    this.name = 'ConfigErrors'
    this.errors = errors
    this.searched = searched
    this.mayPass = errors.length > 0 && errors.every(({ isAbsent }) => isAbsent === true)
  }
}

/** One readable line: path, value, origin, problem, remedy. */
export function errorLine({ path, value, problem, remedy, where }: ConfigError): string {
  const subject = path === '' ? 'configuration' : path
  const shown = value === undefined ? '' : ` = ${value}`
  const origin = where === undefined ? '' : ` (${where})`
  // Names of keys and files may hold any characters.
  return printable(`${subject}${shown}${origin}: ${problem}; ${remedy}`)
}

/** A place in the configuration: keys and positions from the top. */
export type Path = readonly (string | number)[]

const plainKey = /^[A-Za-z_][\w-]*$/

/** `sinks[0].headers.Authorization`; keys with other characters are quoted. */
export function pathText(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (plainKey.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(keyText(step))}]`
  }
  return text
}

/** The key may be a whole line such as "Authorization: Bearer …": shows only the name, not the secret after it. */
function keyText(key: string): string {
  const [name = ''] = key.slice(0, 100).split(/[\s:=]/, 1)
  return name === key ? key : `${name}…`
}

/** True when a place, as text, equals the other or is inside it. */
export function isWithin(place: string, outer: string): boolean {
  return place === outer || (place.startsWith(outer) && /^[.[]/.test(place.slice(outer.length)))
}

/** The value at a place; undefined where there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  const into = (held: unknown, step: string | number): unknown =>
    typeof held === 'object' && held !== null && Object.hasOwn(held, step)
      ? Reflect.get(held, step)
      : undefined
  return path.reduce(into, value)
}
