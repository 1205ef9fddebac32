import type { Event, Identity, KeptEvent } from '../domain/event/event.ts'
import { exactJson } from '../domain/text/decode.ts'
import { iso } from '../domain/text/time.ts'
import type { Json, JsonObject } from '../domain/text/json.ts'
import { identityIn, jsonLine, labelsAndLog, lineFormat, type Parts, readObject } from './line.ts'

/**
 * The entry as received, redacted, plus `shieldZoneId`. If the event's id and time cannot be derived from the entry by
 * the rule below (an entry without id, a timestamp in microseconds …), the line also has `shieldlogId` and
 * `shieldlogTime` (null for an event without a time), because an audit must identify each line. The constants of the
 * sink are in `shieldlogSet`, which is not read back.
 */
export const createRawFormat = lineFormat({
  name: 'raw',
  defaults: labelsAndLog,
  encode,
  identify,
  readBack,
})

function encode(event: Event, { labels, log, set }: Parts): string {
  const received: Record<string, Json> = { ...event.raw(), shieldZoneId: event.zone.id }
  if (labels === undefined) delete received['labels']
  if (log === undefined) delete received['log']
  if (set !== undefined) received['shieldlogSet'] = { ...set }
  const own = identityOf(received)
  if (own !== undefined && own.id === event.id && own.time === event.time) return jsonLine(received)
  return jsonLine({ ...received, shieldlogId: event.id, shieldlogTime: event.time ?? null })
}

function identify(line: string): Identity | undefined {
  const read = readObject(line)
  return read !== undefined && Number.isInteger(read['shieldZoneId']) ? identityOf(read) : undefined
}

function readBack(line: string): KeptEvent | undefined {
  const read = readObject(line, exactJson)
  if (read === undefined || !Number.isSafeInteger(read['shieldZoneId'])) return undefined
  const identity = identityOf(read)
  if (identity === undefined) return undefined
  const { shieldZoneId, shieldlogId: _id, shieldlogTime: _time, shieldlogSet: _set, ...raw } = read
  return { ...identity, zone: Number(shieldZoneId), of: { raw } }
}

/** Reads shieldlog's own keys first: where an entry has keys of these names, the encoder overwrites them. */
function identityOf(entry: JsonObject): Identity | undefined {
  const { logId, timestamp, shieldlogId, shieldlogTime } = entry
  if (shieldlogId !== undefined || shieldlogTime !== undefined) return identityIn(shieldlogId, shieldlogTime)
  return identityIn(logId, timeOf(timestamp))
}

/** Whole seconds or milliseconds, distinguished by magnitude. */
function timeOf(timestamp: unknown): string | undefined {
  if (!Number.isInteger(timestamp)) return undefined
  const value = Number(timestamp)
  if (value <= 0 || value >= 1e14) return undefined
  return iso(value < 1e11 ? value * 1000 : value)
}
