import { parseDay, type Day } from '../domain/day.ts'

export type Operation =
  'eventLogs' | 'updateRateLimit' | 'uploadScanning' | 'volumes' | 'shieldZones' | 'unknown'

/** A request, parsed from its method and path. */
export interface Route extends Values {
  readonly operation: Operation
  readonly method: string
  /** The path as received, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** The method that the path allows; empty for an unknown path. */
  readonly allowed: string
}

/** What the segments of a path name, decoded once; a value that is not valid is absent. */
interface Values {
  readonly zone?: number
  readonly day?: Day
  /** Absent where the path has no such segment, `""` where it is empty. */
  readonly token?: string
  /** Id of a rate-limit rule. */
  readonly rule?: number
  readonly app?: string
  /** Why no operation accepts the path. */
  readonly malformed?: string
}

const paths: readonly (readonly [Operation, method: string, path: string])[] = [
  ['eventLogs', 'GET', '/shield/event-logs/{zone}/{day}'],
  ['eventLogs', 'GET', '/shield/event-logs/{zone}/{day}/{token}'],
  ['updateRateLimit', 'PATCH', '/shield/rate-limit/{rule}'],
  ['uploadScanning', 'GET', '/shield/metrics/shield-zone/{zone}/upload-scanning'],
  ['volumes', 'GET', '/mc/apps/{app}/volumes'],
  ['shieldZones', 'GET', '/shield/shield-zones'],
]

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  zone: int32,
  day: dayOf,
  token: String,
  rule: int32,
  app: String,
}

export function routeOf(method: string, target: string): Route {
  const split = target.indexOf('?')
  const path = split < 0 ? target : target.slice(0, split)
  const base = { method, path, query: new URLSearchParams(split < 0 ? '' : target.slice(split + 1)) }
  const segments = decoded(path)
  if (segments === undefined)
    return { ...base, operation: 'unknown', allowed: method, malformed: 'The path is not percent-encoded.' }
  for (const [operation, allowed, template] of paths) {
    const values = valuesIn(segments, template.split('/'))
    if (values !== undefined) return { ...base, operation, allowed, ...values }
  }
  return { ...base, operation: 'unknown', allowed: '' }
}

/** Undefined where the path is another one. */
function valuesIn(segments: readonly string[], template: readonly string[]): Values | undefined {
  if (segments.length !== template.length) return undefined
  const values: Record<string, unknown> = {}
  for (const [index, part] of template.entries()) {
    const text = segments[index]!
    const name = part.startsWith('{') ? part.slice(1, -1) : undefined
    if (name === undefined ? text !== part : text === '' && name !== 'token') return undefined
    if (name === undefined) continue
    const value = readers[name]!(text)
    if (value === undefined) values['malformed'] ??= `The value '${text}' is not valid for ${name}.`
    else values[name] = value
  }
  return values
}

/** Whether the request asks for the first page, and in the configured form. */
export function formOf({ token }: Route, firstPage: string): 'first' | 'token' | 'wrong' {
  const wanted = (form: string): boolean => firstPage === form || firstPage === 'any'
  if (token === undefined) return wanted('omit') ? 'first' : 'wrong'
  if (token === '') return wanted('empty') ? 'first' : 'wrong'
  return token === firstPage && !['omit', 'empty', 'any'].includes(firstPage) ? 'first' : 'token'
}

function int32(text: string): number | undefined {
  return /^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31 ? Number(text) : undefined
}

/** From `MM-dd-yyyy`. */
function dayOf(text: string): Day | undefined {
  const [, month, date, year] = /^(\d{2})-(\d{2})-(\d{4})$/.exec(text) ?? []
  return parseDay(`${year}-${month}-${date}`)
}

// Segments are decoded once and after the split, so that an encoded slash stays inside its segment.
function decoded(path: string): string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return undefined
  }
}
