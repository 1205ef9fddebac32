import type { Event } from './event.ts'
import { isObject, type JsonObject } from '../text/json.ts'
import { jsonText } from '../text/json-text.ts'

type Stored = Omit<Event, 'fingerprint' | 'raw' | 'hasOwnId' | 'otherFingerprint'> & {
  /** 16 hex digits: JSON has no 64-bit integers. */
  readonly fingerprint: string
  readonly raw: JsonObject
}

/** Makes `storeEvent` name every member: an event may compute some on access, so it cannot be spread. */
type AllOf<T> = { [Name in keyof T]-?: T[Name] | undefined }

/** The whole event as JSON text, `raw` and fingerprint included, so that it can be mapped and sent anew later. */
export function storeEvent(event: Event): string {
  const { id, time, timeMs, zone, action, severity, rule, request, response, client, pop, match } = event
  const { labels, log, fingerprint, raw } = event
  const named = { id, time, timeMs, zone, action, severity, rule, request, response, client, pop, match }
  const stored = {
    ...named,
    labels,
    log,
    fingerprint: fingerprint.toString(16).padStart(16, '0'),
    raw: raw(),
  }
  return jsonText(stored satisfies AllOf<Stored>)
}

/** Reads what `storeEvent` wrote. Throws for any other text. */
export function restoreEvent(text: string): Event {
  const stored = read(text)
  if (!isStored(stored)) throw new Error('a stored event is damaged: id, zone, labels, log or raw is missing')
  const { fingerprint, raw, ...rest } = stored
  return { ...rest, fingerprint: BigInt(`0x${fingerprint}`), raw: () => raw }
}

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('a stored event is damaged: it is not valid JSON', { cause })
  }
}

function isStored(value: unknown): value is Stored {
  if (!isObject(value)) return false
  const { id, fingerprint, zone, labels, log, raw } = value
  if (typeof id !== 'string' || typeof fingerprint !== 'string') return false
  if (!/^[\da-f]{16}$/.test(fingerprint)) return false
  return isObject(zone) && isObject(labels) && isObject(log) && isObject(raw)
}
