import type { Ledger } from '../../ports/store.ts'
import type { Keys } from './keys.ts'
import type { Link } from './server/link.ts'
import { fingerprintsOfOpen, fullChunksOf, placeOfMinute, takeFromBucket } from './seen-fields.ts'

/** A megabyte of full chunks. */
const fieldsAtOnce = 500

export function createLoadSeen(link: Link, keys: Keys): Ledger['loadSeen'] {
  async function read(key: string, fields: Iterable<string>): Promise<ReadonlyMap<string, Buffer>> {
    const all = [...new Set(fields)]
    const found = new Map<string, Buffer>()
    for (let from = 0; from < all.length; from += fieldsAtOnce) {
      const some = all.slice(from, from + fieldsAtOnce)
      const values = await link.run((client) => client.hmgetBuffer(key, ...some))
      for (const [index, value] of values.entries()) if (value !== null) found.set(some[index]!, value)
    }
    return found
  }

  return async function loadSeen(stream, minutes) {
    const found = new Map<number, Uint8Array>()
    if (minutes.length === 0) return found
    const key = keys.of(stream).seen
    const wanted = [...new Set(minutes)].map((minute) => [minute, placeOfMinute(stream.day, minute)] as const)
    const open = await read(
      key,
      wanted.flatMap(([, { minute, buckets }]) => [minute, ...buckets.map(({ name }) => name)]),
    )
    // Full chunks never change, so a commit in between is seen either completely or not at all.
    const chunksOf = ({ minute }: { readonly minute: string }): string[] => {
      const own = open.get(minute)
      return own === undefined ? [] : fullChunksOf(minute, own)
    }
    const full = await read(
      key,
      wanted.flatMap(([, at]) => chunksOf(at)),
    )
    for (const [minute, at] of wanted) {
      const own = open.get(at.minute)
      const parts = [
        ...at.buckets.flatMap(({ name, offset }) => {
          const bucket = open.get(name)
          return bucket === undefined ? [] : takeFromBucket(bucket, offset)
        }),
        ...chunksOf(at).flatMap((chunk) => full.get(chunk) ?? []),
        ...(own === undefined ? [] : [fingerprintsOfOpen(own)]),
      ]
      // A plain array, not a Buffer: stores return the same type for every size.
      const bytes = new Uint8Array(Buffer.concat(parts))
      if (bytes.byteLength > 0) found.set(minute, bytes)
    }
    return found
  }
}
