import { hash } from 'node:crypto'
import { parseDay } from '../../domain/day.ts'
import { fingerprintOf, ownIdOf } from '../../domain/event/fingerprint.ts'
import { FingerprintSet } from '../../domain/event/seen.ts'
import { isObject, jsonText, numberText, type Json, type JsonObject } from '../../domain/text/json.ts'
import { iso } from '../../domain/text/time.ts'

/** Own ids of entries, by the fingerprint of the id and time that they share. */
export type OwnIds = ReadonlyMap<bigint, ReadonlySet<string>>

/** What deduplication needs to know of an entry. Computed from the entry as received, before redaction. */
export interface EntryIdentity {
  readonly id: string
  readonly time?: string | undefined
  /** ms since the epoch; absent where `time` is. */
  readonly timeMs?: number | undefined
  readonly fingerprint: bigint
  /** For an identity with an own id: the fingerprint of the id and time that the entry shares with others. */
  readonly sharedFingerprint?: bigint
}

const none: OwnIds = new Map()

/** Entries at the end of a page that the next page knows of. */
const mostAtEnd = 100

/**
 * The identities of the entries of a page. Where entries have the same id and time and other content, each gets an id of
 * its own. That id depends on the content alone, so it is the same in whatever order, and on whatever pages, a later
 * listing shows them. `before` is the end of the page before: a listing by time has such entries next to each other, and
 * a page may end between them.
 */
export function identitiesOf(entries: readonly Json[], before: OwnIds = none) {
  const shared = entries.map(identityOf)
  const ownIds = ownIdsOf(entries, shared, repeatedIn(shared, before), before)
  const isShared = ({ fingerprint }: EntryIdentity) => (ownIds.get(fingerprint)?.size ?? 0) > 1
  return {
    identities:
      ownIds.size === 0
        ? shared
        : shared.map((identity, index) =>
            isShared(identity) ? withOwnId(entries[index]!, identity) : identity,
          ),
    // For the next page. Between two of such entries a store that pages by partition may have empty ones.
    end: (): OwnIds => (entries.length === 0 ? before : endOf(entries, shared)),
  }
}

export function withOwnId(entry: Json, { id, time, timeMs, fingerprint }: EntryIdentity): EntryIdentity {
  const own = ownIdIn(entry, id)
  const ownFingerprint = fingerprintOf({ id: own, time })
  return { id: own, time, timeMs, fingerprint: ownFingerprint, sharedFingerprint: fingerprint }
}

/** From the entry as received, before redaction: a changed redaction must not make an old event look new. */
function ownIdIn(entry: Json, id: string): string {
  return ownIdOf(id, canonicalJson(entry))
}

function repeatedIn(identities: readonly EntryIdentity[], before: OwnIds): Set<bigint> {
  const once = new FingerprintSet(identities.length)
  const repeated = new Set<bigint>()
  for (const { fingerprint } of identities)
    if (!once.add(fingerprint) || before.has(fingerprint)) repeated.add(fingerprint)
  return repeated
}

/** Costs as much as parsing the entries whose fingerprints are wanted. */
function ownIdsOf(
  entries: readonly Json[],
  identities: readonly EntryIdentity[],
  wanted: ReadonlySet<bigint>,
  before: OwnIds,
): OwnIds {
  if (wanted.size === 0) return none
  const ownIds = new Map<bigint, Set<string>>()
  for (const fingerprint of wanted) ownIds.set(fingerprint, new Set(before.get(fingerprint)))
  for (const [index, { id, fingerprint }] of identities.entries())
    ownIds.get(fingerprint)?.add(ownIdIn(entries[index]!, id))
  return ownIds
}

/** Of the entries at the end of a page with the time of the last one. */
function endOf(entries: readonly Json[], identities: readonly EntryIdentity[]): OwnIds {
  const time = identities.at(-1)?.time
  let from = identities.length
  while (from > 0 && identities.length - from < mostAtEnd && identities[from - 1]!.time === time) from--
  const last = identities.slice(from)
  return ownIdsOf(entries.slice(from), last, new Set(last.map(({ fingerprint }) => fingerprint)), none)
}

export function identityOf(entry: Json): EntryIdentity {
  const id = isObject(entry) ? idOf(entry) : hashed(entry)
  const { time, timeMs } = (isObject(entry) && entryTimeOf(entry['timestamp'])) || untimed
  return { id, time, timeMs, fingerprint: fingerprintOf({ id, time }) }
}

const untimed = { time: undefined, timeMs: undefined }

function idOf(entry: JsonObject): string {
  return ownTextOf(entry['logId']) ?? hashed(entry)
}

/** A text, or a number as it was received; undefined for anything else. */
export function ownTextOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return numberText(value)
}

function hashed(entry: Json): string {
  return `sha256:${hash('sha256', canonicalJson(entry), 'hex').slice(0, 32)}`
}

/** Deeper keys keep the order received: further recursion would end at the stack limit, which varies. */
const sortedLevels = 100

/** JSON text with sorted keys: the same for two entries that differ only in the order of their keys. */
function canonicalJson(value: unknown, level = 0): string {
  if (level === sortedLevels) return jsonText(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, level + 1)).join(',')}]`
  if (!isObject(value)) return jsonText(value)
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, held]) => `${JSON.stringify(key)}:${canonicalJson(held, level + 1)}`)
  return `{${members.join(',')}}`
}

interface EntryTime {
  /** ISO 8601 UTC with as many fractional digits as are known: 3, 6 or 9. */
  readonly time: string
  readonly timeMs: number
}

/**
 * Parses the timestamp of an entry: seconds, milliseconds, micro- or nanoseconds since the epoch, told apart by
 * magnitude (the four ranges from 1973 to 5138 do not overlap), the same as `/Date(ms)/`, or ISO 8601 text, which is UTC
 * where it names no zone. Undefined for anything else. Digits beyond the nanosecond are dropped.
 */
export function entryTimeOf(timestamp: unknown): EntryTime | undefined {
  // Nearly every one.
  if (typeof timestamp === 'number' && Number.isInteger(timestamp) && timestamp >= 1e11 && timestamp < 1e14)
    return { time: iso(timestamp), timeMs: timestamp }
  const text = ownTextOf(timestamp)?.trim() ?? ''
  const [, since] = /^\/Date\((\d+)(?:[+-]\d{4})?\)\/$/.exec(text) ?? []
  return timeSinceEpoch(since ?? text) ?? timeOfDate(text)
}

function timeSinceEpoch(text: string): EntryTime | undefined {
  // A number may have an exponent.
  const plain = /^[\d.]+e\+?\d+$/i.test(text) ? String(Number(text)) : text
  const [, whole = '', fraction = ''] = /^0*([1-9]\d{8,19})(?:\.(\d+))?$/.exec(plain) ?? []
  if (whole === '') return undefined
  const seconds = whole.length - (whole.length < 12 ? 0 : whole.length < 15 ? 3 : whole.length < 18 ? 6 : 9)
  return timeOf(Number(whole.slice(0, seconds)) * 1000, whole.slice(seconds) + fraction)
}

const dateText =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?: ?(?:Z|UTC|GMT|([+-]\d{2}):?(\d{2})?))?$/i

function timeOfDate(text: string): EntryTime | undefined {
  const [, date, minute, second = '00', fraction = '', hours = '+00', minutes = '00'] =
    dateText.exec(text) ?? []
  // Otherwise 30 February would become a day in March.
  if (date === undefined || parseDay(date) === undefined) return undefined
  // A leap second is the first one of the next minute.
  const leap = second === '60' ? 1000 : 0
  const at = Date.parse(`${date}T${minute}:${leap > 0 ? '59' : second}${hours}:${minutes}`)
  return timeOf(at + leap, fraction)
}

/** A whole second, and the digits after it. */
function timeOf(secondMs: number, fraction: string): EntryTime | undefined {
  const timeMs = secondMs + Number(fraction.slice(0, 3).padEnd(3, '0'))
  if (!(timeMs >= firstMs && timeMs <= lastMs)) return undefined
  const digits = Math.min(9, Math.ceil(fraction.length / 3) * 3)
  const beyondMs = fraction.slice(3, 9).padEnd(digits - 3, '0')
  return { time: `${iso(timeMs).slice(0, -1)}${beyondMs}Z`, timeMs }
}

/** Of years with four digits. */
const [firstMs, lastMs] = [Date.parse('0000-01-01T00:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')]
