import type { Json, JsonObject } from '../../domain/text/json.ts'
import { fingerprintOf, ownIdOf } from '../../domain/event/fingerprint.ts'
import { FingerprintSet } from '../../domain/event/seen.ts'
import { hash } from 'node:crypto'
import { isObject } from '../../domain/text/json.ts'
import { entryTimeOf } from './entry-time.ts'
import { jsonText } from '../../domain/text/json-text.ts'

/** Own ids of entries, by the fingerprint of the id and time that they share. */
export type OwnIds = ReadonlyMap<bigint, ReadonlySet<string>>

export interface PageIdentity extends EntryIdentity {
  /** For an identity with an own id: the fingerprint of the id and time that the entry shares with others. */
  readonly sharedFingerprint?: bigint
}

interface PageIdentities {
  readonly identities: readonly PageIdentity[]
  /** What the next page needs to know of the end of this one. */
  readonly end: () => OwnIds
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
export function identitiesOf(entries: readonly Json[], before: OwnIds = none): PageIdentities {
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
    // Between the two pages of such entries a store that pages by partition may have empty ones.
    end: () => (entries.length === 0 ? before : endOf(entries, shared)),
  }
}

/** The identity of an entry under an id of its own. */
export function withOwnId(entry: Json, { id, time, timeMs, fingerprint }: EntryIdentity): PageIdentity {
  const own = { id: ownIdIn(entry, id), ...(time !== undefined && { time }) }
  return { ...own, timeMs, fingerprint: fingerprintOf(own), sharedFingerprint: fingerprint }
}

/** From the entry as received, before redaction: a changed redaction must not make an old event look new. */
function ownIdIn(entry: Json, id: string): string {
  return ownIdOf(id, canonicalJson(entry))
}

function repeatedIn(identities: readonly EntryIdentity[], before: OwnIds): Set<bigint> {
  const once = new FingerprintSet()
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

/** What deduplication needs to know of an entry. Computed from the entry as received, before redaction. */
export interface EntryIdentity {
  readonly id: string
  readonly time?: string | undefined
  /** ms since the epoch; absent where `time` is. */
  readonly timeMs?: number | undefined
  readonly fingerprint: bigint
}

export function identityOf(entry: Json): EntryIdentity {
  if (!isObject(entry)) return untimed(hashed(entry))
  const id = idOf(entry)
  const when = entryTimeOf(entry['timestamp'])
  if (when === undefined) return untimed(id)
  const { time, timeMs } = when
  return { id, time, timeMs, fingerprint: fingerprintOf({ id, time }) }
}

function untimed(id: string): EntryIdentity {
  return { id, fingerprint: fingerprintOf({ id }) }
}

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
