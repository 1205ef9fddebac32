import { parseDay, type Day } from '../domain/day.ts'
import { percentDecoded } from '../domain/text/decode.ts'

/** Each operation with its method and path. */
const operations = {
  eventLogs: /^GET \/shield\/event-logs\/(?<zone>[^/]+)\/(?<day>[^/]+)(?:\/(?<token>[^/]*))?$/,
  updateRateLimit: /^PATCH \/shield\/rate-limit\/(?<rule>[^/]+)$/,
  uploadScanning: /^GET \/shield\/metrics\/shield-zone\/(?<zone>[^/]+)\/upload-scanning$/,
  volumes: /^GET \/mc\/apps\/(?<app>[^/]+)\/volumes$/,
  shieldZones: /^GET \/shield\/shield-zones$/,
}

export type Operation = keyof typeof operations

/** What the segments of a path name; undefined for a value that is not valid. */
const readers = {
  zone: int32,
  day: dayOf,
  /** Absent where the path has no such segment, `""` where it is empty. */
  token: String,
  /** Id of a rate-limit rule. */
  rule: int32,
  app: String,
}

type Values = { readonly [Name in keyof typeof readers]?: NonNullable<ReturnType<(typeof readers)[Name]>> }

/** A request, parsed from its method and path. */
export interface Route extends Values {
  /** Undefined for an unknown path, or another method. */
  readonly operation: Operation | undefined
  readonly method: string
  /** The path as received, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** Why no operation accepts the path. */
  readonly malformed?: string
}

export function routeOf(method: string, target: string): Route {
  const [, path = '', search = ''] = /^([^?]*)\??(.*)$/s.exec(target) ?? []
  const base = { operation: undefined, method, path, query: new URLSearchParams(search) }
  for (const [operation, pattern] of Object.entries(operations)) {
    const found = pattern.exec(`${method} ${path}`)
    if (found !== null) return { ...base, ...valuesIn(found.groups ?? {}), operation: operation as Operation }
  }
  return base
}

function valuesIn(groups: Readonly<Record<string, string | undefined>>): Partial<Route> {
  const values: Record<string, unknown> = {}
  for (const [name, encoded] of Object.entries(groups)) {
    if (encoded === undefined) continue
    // A segment is decoded after the split, so that an encoded slash stays inside it.
    const text = percentDecoded(encoded)
    const value = text === undefined ? undefined : readers[name as keyof Values](text)
    if (value === undefined) return { malformed: `The value '${encoded}' is not valid for ${name}.` }
    values[name] = value
  }
  return values
}

function int32(text: string): number | undefined {
  return /^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31 ? Number(text) : undefined
}

/** From `MM-dd-yyyy`. */
function dayOf(text: string): Day | undefined {
  const [, month, date, year] = /^(\d{2})-(\d{2})-(\d{4})$/.exec(text) ?? []
  return parseDay(`${year}-${month}-${date}`)
}
