import { startOf, type Day } from '../../domain/day.ts'
import {
  countMinute,
  packFingerprints,
  unpackFingerprints,
  untimedMinute,
  type MinuteCount,
} from '../../domain/event/seen.ts'
import { Failure } from '../../domain/failure.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { Ledger, Upkeep } from '../../ports/store.ts'
import { heardWithinMs } from '../held.ts'
import { numberOf } from './server/answer.ts'
import type { Keys } from './keys.ts'
import type { Argument, Link } from './server/link.ts'
import { readField } from './seen-fields.ts'
import type { Instant } from './streams.ts'

/** Minute of the hour, count, hash. */
const entryBytes = 13
const untimed = 'u'
/** At most 600 KiB. */
const fieldsAtOnce = 100
const maxRounds = 5

export interface Minutes extends Pick<Ledger, 'minutes' | 'isIndexDropped'> {
  readonly forget: Upkeep['dropIndex']
}

type Counts = Map<number, MinuteCount>

interface MinutesDeps {
  readonly link: Link
  readonly keys: Keys
  readonly instant: Instant
}

/**
 * While a stream has its fingerprints its ledger is counted from them: stored beside them, it would take more memory
 * than they do where events are few. It is written when they are dropped.
 */
export function createMinutes({ link, keys, instant }: MinutesDeps): Minutes {
  async function* scan(key: string): AsyncGenerator<ReadonlyMap<string, Buffer>> {
    let cursor = '0'
    do {
      const from = cursor
      const [next, found] = await link.run((client) => client.hscanBuffer(key, from, 'COUNT', fieldsAtOnce))
      const fields = new Map<string, Buffer>()
      for (let index = 0; index < found.length; index += 2)
        fields.set(found[index]!.toString(), found[index + 1]!)
      if (fields.size > 0) yield fields
      cursor = next.toString()
    } while (cursor !== '0')
  }

  /** `changed`: some fields changed meanwhile. */
  async function forgetOnce(stream: Stream): Promise<'done' | 'changed' | 'held'> {
    const { day } = stream
    const { seen, ledger, head } = keys.of(stream)
    let outcome: 'done' | 'changed' = 'done'
    for await (const fields of scan(seen)) {
      const all = [...fields]
      for (let from = 0; from < all.length; from += fieldsAtOnce) {
        const some = all.slice(from, from + fieldsAtOnce)
        const counts: Counts = new Map()
        for (const [field, value] of some) addField(counts, day, field, value)
        const lengths = some.flatMap(([field, value]) => [field, value.byteLength])
        const limits = [instant(), heardWithinMs]
        const args: Argument[] = [...limits, some.length, ...lengths, ...hoursOf(counts, day)]
        const answer = numberOf(await link.script('forget-seen', [seen, ledger, head, keys.holders], args))
        if (answer === -1) return 'held'
        if (answer === 0) outcome = 'changed'
      }
    }
    return outcome
  }

  return {
    async minutes(stream) {
      const { seen, ledger } = keys.of(stream)
      const counts: Counts = new Map()
      // A field may come twice while the hash grows.
      const told = new Set<string>()
      for await (const fields of scan(seen))
        for (const [field, value] of fields) {
          if (!told.has(field)) addField(counts, stream.day, field, value)
          told.add(field)
        }
      const hours = await link.run((client) => client.hgetallBuffer(ledger))
      for (const [hour, entries] of Object.entries(hours))
        for (const count of readHour(stream.day, hour, entries)) addCount(counts, count)
      return [...counts.values()].sort((a, b) => a.minute - b.minute)
    },
    // It is written by the script that deletes the first fingerprints, and goes with the stream.
    isIndexDropped: async (stream) => {
      const { ledger } = keys.of(stream)
      return (await link.run((client) => client.exists(ledger))) === 1
    },
    async forget(stream) {
      for (let round = 0; round < maxRounds; round++) {
        const outcome = await forgetOnce(stream)
        if (outcome !== 'changed') return outcome === 'done'
      }
      const text = `the stream ${streamKey(stream)} is being written, so its fingerprints cannot be dropped now`
      throw new Failure('retry', 'store_unavailable', text)
    },
  }
}

function addField(counts: Counts, day: Day, field: string, value: Uint8Array): void {
  for (const [minute, bytes] of readField(day, field, value)) addCount(counts, countMinute(minute, bytes))
}

function addCount(counts: Counts, { minute, count, hash }: MinuteCount): void {
  const known = counts.get(minute) ?? { count: 0, hash: 0n }
  // An open chunk may be empty.
  if (count === 0) return
  counts.set(minute, {
    minute,
    count: known.count + count,
    hash: BigInt.asUintN(64, known.hash + hash),
  })
}

function readHour(day: Day, hour: string, entries: Buffer): MinuteCount[] {
  const counts: MinuteCount[] = []
  const first = startOf(day) / 60_000 + Number(hour) * 60
  for (let at = 0; at + entryBytes <= entries.byteLength; at += entryBytes) {
    const minute = hour === untimed ? untimedMinute : first + entries.readUInt8(at)
    const [hash = 0n] = unpackFingerprints(entries.subarray(at + 5, at + entryBytes))
    counts.push({ minute, count: entries.readUInt32BE(at + 1), hash })
  }
  return counts
}

/** Number of hours; for each: hour, entries. */
function hoursOf(counts: Counts, day: Day): Argument[] {
  const origin = startOf(day) / 60_000
  const hours = new Map<string, Buffer[]>()
  for (const { minute, count, hash } of counts.values()) {
    const hour = Math.floor((minute - origin) / 60)
    const name = minute === untimedMinute ? untimed : String(hour)
    const entry = Buffer.alloc(entryBytes)
    entry.writeUInt8(minute === untimedMinute ? 0 : minute - origin - hour * 60, 0)
    entry.writeUInt32BE(count, 1)
    entry.set(packFingerprints([hash]), 5)
    hours.set(name, [...(hours.get(name) ?? []), entry])
  }
  return [hours.size, ...[...hours].flatMap(([hour, entries]) => [hour, Buffer.concat(entries)])]
}
