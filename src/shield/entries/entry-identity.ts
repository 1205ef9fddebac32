import { hash } from 'node:crypto'
import type { Json, JsonObject } from '../../domain/text/json.ts'
import { isObject } from '../../domain/text/json.ts'
import { fingerprintOf } from '../../domain/event/fingerprint.ts'
import { canonicalJson } from './canonical-json.ts'
import { entryTimeOf } from './entry-time.ts'

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
