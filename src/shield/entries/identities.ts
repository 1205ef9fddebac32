import { hash } from 'node:crypto'
import { fingerprintOf, ownIdOf } from '../../domain/event/fingerprint.ts'
import { FingerprintSet } from '../../domain/event/seen.ts'
import { isObject, jsonText, type Json, type JsonObject } from '../../domain/text/json.ts'
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

/** JSON parsing rounds a number beyond 2^53, so two ids may become equal: the hash of the whole entry is safer. */
function idOf(entry: JsonObject): string {
  const logId = entry['logId']
  if (typeof logId === 'string' && logId !== '') return logId
  return typeof logId === 'number' && Number.isSafeInteger(logId) ? String(logId) : hashed(entry)
}

function hashed(entry: Json): string {
  return `sha256:${hash('sha256', canonicalJson(entry), 'hex').slice(0, 32)}`
}

/** Deeper keys keep the order received: further recursion would end at the stack limit, which varies. */
const sortedLevels = 100

/** JSON text with sorted keys: the same for two entries that differ only in the order of their keys. */
function canonicalJson(value: unknown, level = 0): string {
  if (typeof value !== 'object' || value === null || level === sortedLevels) return jsonText(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, level + 1)).join(',')}]`
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
 * magnitude (the four ranges from 1973 to 5138 do not overlap), or ISO 8601 text with a zone. Undefined for anything
 * else. Digits beyond the precision of a JSON number are dropped: nanoseconds as a number keep 6 digits, as text 9.
 */
export function entryTimeOf(timestamp: unknown): EntryTime | undefined {
  if (typeof timestamp === 'number') return timeOfNumber(timestamp)
  if (typeof timestamp !== 'string') return undefined
  const text = timestamp.trim()
  if (/^\d{1,20}$/.test(text)) return timeOfDigits(text)
  if (/^\d{1,17}\.\d{1,12}$/.test(text)) return timeOfNumber(Number(text))
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/.test(text))
    return timeOfMs(Date.parse(text))
  return undefined
}

function timeOfNumber(value: number): EntryTime | undefined {
  if (!(value >= 1e8 && value < 1e20)) return undefined
  if (value < 1e11) return timeOfMs(Math.round(value * 1000))
  if (value < 1e14) return timeOfMs(Math.floor(value))
  return timeOfDigits(String(Math.floor(value < 1e17 ? value : value / 1000)))
}

/** Text can hold more digits than a number. */
function timeOfDigits(text: string): EntryTime | undefined {
  const digits = text.replace(/^0+/, '')
  if (digits.length < 15) return timeOfNumber(Number(digits))
  const beyondMs = digits.length < 18 ? 3 : 6
  const whole = timeOfMs(Number(digits.slice(0, -beyondMs)))
  return whole && { ...whole, time: `${whole.time.slice(0, -1)}${digits.slice(-beyondMs)}Z` }
}

function timeOfMs(timeMs: number): EntryTime | undefined {
  return Number.isNaN(timeMs) ? undefined : { time: iso(timeMs), timeMs }
}
