import { parseDay, type Day } from '../domain/day.ts'

export type Operation =
  'eventLogs' | 'updateRateLimit' | 'uploadScanning' | 'volumes' | 'shieldZones' | 'unknown'

/** A request, parsed from its method and path. */
export interface Route {
  readonly operation: Operation
  readonly method: string
  /** The path as received, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** The methods that the path allows; empty for an unknown path. */
  readonly allowed: string
  readonly zone?: number
  /** Absent where the path names no valid day. */
  readonly day?: Day
  /** The token segment, decoded; absent where the path has none, `""` where it is empty. */
  readonly segment?: string
  /** Id of a rate-limit rule. */
  readonly ruleId?: number
  readonly appId?: string
  /** Why no operation accepts the path. */
  readonly malformed?: string
}

const maxInt32 = 2 ** 31 - 1

export function routeOf(method: string, target: string): Route {
  const split = target.indexOf('?')
  const path = split < 0 ? target : target.slice(0, split)
  const query = new URLSearchParams(split < 0 ? '' : target.slice(split + 1))
  const base = { method, path, query }
  const segments = decodeSegments(path)
  if (segments === undefined) {
    return { ...base, operation: 'unknown', allowed: method, malformed: 'The path is not percent-encoded.' }
  }
  const [area, part, ...rest] = segments
  if (area === 'shield' && part === 'event-logs') return { ...base, ...eventLogs(rest) }
  if (area === 'shield' && part === 'rate-limit') return { ...base, ...rateLimit(rest) }
  if (area === 'shield' && part === 'metrics') return { ...base, ...uploadScanning(rest) }
  if (area === 'shield' && part === 'shield-zones') return { ...base, ...shieldZones(rest) }
  if (area === 'mc' && part === 'apps') return { ...base, ...volumes(rest) }
  return { ...base, ...unknown }
}

/** Whether the request asks for the first page, and in the configured form. */
export function formOf({ segment }: Route, firstPage: string): 'first' | 'token' | 'wrong' {
  const wanted = (form: string): boolean => firstPage === form || firstPage === 'any'
  if (segment === undefined) return wanted('omit') ? 'first' : 'wrong'
  if (segment === '') return wanted('empty') ? 'first' : 'wrong'
  return segment === firstPage && !['omit', 'empty', 'any'].includes(firstPage) ? 'first' : 'token'
}

type Found = Omit<Route, 'method' | 'path' | 'query'>

const unknown = { operation: 'unknown', allowed: '' } satisfies Found

function eventLogs([zoneText = '', dayText = '', segment, ...more]: readonly string[]): Found {
  if (more.length > 0 || dayText === '') return unknown
  const found = {
    operation: 'eventLogs',
    allowed: 'GET',
    ...(segment === undefined ? {} : { segment }),
  } as const
  const zone = wholeNumber(zoneText)
  if (zone === undefined) return { ...found, malformed: `The value '${zoneText}' is not a shield zone id.` }
  const [, month, date, year] = /^(\d{2})-(\d{2})-(\d{4})$/.exec(dayText) ?? []
  const day = parseDay(`${year}-${month}-${date}`)
  if (day === undefined) {
    return { ...found, zone, malformed: `The value '${dayText}' is not a date of the form MM-dd-yyyy.` }
  }
  return { ...found, zone, day }
}

function rateLimit([idText = '', ...more]: readonly string[]): Found {
  if (more.length > 0 || idText === '') return unknown
  const found = { operation: 'updateRateLimit', allowed: 'PATCH' } as const
  const ruleId = wholeNumber(idText)
  if (ruleId === undefined) return { ...found, malformed: `The value '${idText}' is not a rate limit id.` }
  return { ...found, ruleId }
}

function uploadScanning([kind, zoneText = '', name, ...more]: readonly string[]): Found {
  if (kind !== 'shield-zone' || name !== 'upload-scanning' || more.length > 0) return unknown
  const found = { operation: 'uploadScanning', allowed: 'GET' } as const
  const zone = wholeNumber(zoneText)
  if (zone === undefined) return { ...found, malformed: `The value '${zoneText}' is not a shield zone id.` }
  return { ...found, zone }
}

function volumes([appId = '', name, ...more]: readonly string[]): Found {
  if (appId === '' || name !== 'volumes' || more.length > 0) return unknown
  return { operation: 'volumes', allowed: 'GET', appId }
}

function shieldZones(more: readonly string[]): Found {
  return more.length > 0 ? unknown : { operation: 'shieldZones', allowed: 'GET' }
}

function wholeNumber(text: string): number | undefined {
  const value = /^-?\d{1,10}$/.test(text) ? Number(text) : undefined
  return value !== undefined && Math.abs(value) <= maxInt32 ? value : undefined
}

// Segments are decoded once and after the split, so that an encoded slash stays inside its segment.
function decodeSegments(path: string): string[] | undefined {
  try {
    return path.split('/').slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}
