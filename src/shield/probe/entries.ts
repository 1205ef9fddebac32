import { isObject } from '../../domain/text/json.ts'
import { entryTimeOf } from '../entries/identities.ts'

/** What the formats make use of. */
const knownMembers = new Set(['logId', 'timestamp', 'log', 'labels'])
const knownLabels = new Set([
  'asn',
  'country',
  'ruleId',
  'severity',
  'method',
  'ruleGroup',
  'status',
  'serverZone',
])
const knownFields = new Set([
  'ServerZoneId',
  'Message',
  'Url',
  'RemoteIp',
  'UrlEncodedBody',
  'Headers',
  'TriggerMatch',
])
/** The service chooses the names; more of them are counted together. */
const mostNames = 50

/** Counts of what entries hold, without any of their content. */
export class EntryTally {
  count = 0
  bytes = 0
  largest = 0
  /** Without a `logId`; with one that another entry of the probe has, too. */
  withoutId = 0
  repeatedIds = 0
  masked = 0
  /** Kinds of `log`, units of `timestamp`, and names that no format knows, each with its count. */
  readonly logs = new Map<string, number>()
  readonly units = new Map<string, number>()
  readonly unknown = new Map<string, number>()
  readonly #ids = new Set<string>()

  add(entry: unknown): void {
    const size = Buffer.byteLength(JSON.stringify(entry))
    this.count++
    this.bytes += size
    this.largest = Math.max(this.largest, size)
    if (!isObject(entry)) return note(this.unknown, 'an entry that is no object')
    const { logId, timestamp, log, labels } = entry
    if (typeof logId !== 'string' || logId === '') this.withoutId++
    else if (this.#ids.has(logId)) this.repeatedIds++
    else this.#ids.add(logId)
    note(this.units, unitOf(timestamp))
    this.#name('member', entry, knownMembers)
    if (isObject(labels)) this.#name('label', labels, knownLabels)
    const decoded = typeof log === 'string' ? parsed(log) : log
    note(this.logs, kindOf(log, decoded))
    if (!isObject(decoded)) return
    this.#name('field of log', decoded, knownFields)
    if (typeof decoded['RemoteIp'] === 'string' && decoded['RemoteIp'].endsWith('*')) this.masked++
  }

  #name(what: string, of: object, known: ReadonlySet<string>): void {
    for (const name of Object.keys(of))
      if (!known.has(name)) note(this.unknown, `${what} ${name.slice(0, 60)}`)
  }
}

function note(counts: Map<string, number>, name: string): void {
  const counted = counts.has(name) || counts.size < mostNames ? name : 'others'
  counts.set(counted, (counts.get(counted) ?? 0) + 1)
}

function unitOf(timestamp: unknown): string {
  if (entryTimeOf(timestamp) === undefined) return 'none'
  if (typeof timestamp !== 'number') return 'text'
  const digits = Math.floor(Math.abs(timestamp)).toString().length
  return digits <= 11 ? 'seconds' : digits <= 14 ? 'ms' : digits <= 17 ? 'µs' : 'ns'
}

function kindOf(log: unknown, decoded: unknown): string {
  if (log === null || log === undefined) return 'null'
  if (typeof log !== 'string') return isObject(log) ? 'object' : 'other'
  return isObject(decoded) ? 'text of JSON' : 'plain text'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
