import type { Commit, Ledger } from '../../ports/store.ts'
import type { PartialWrite, Root } from './root.ts'

/** Enough for any size of an object. */
const sizeBytes = 6

/** The name of the collection: sizes of a stream's objects in the order of their numbers, in records of as many each. */
export function objectsOf(key: string): string {
  return `objects:${key}`
}

/** The first object of a stream begins anew. */
export function withObject({ records }: Root, key: string, object: Commit['object']): PartialWrite {
  if (object === undefined) return {}
  const { number, bytes } = object
  const size = Buffer.alloc(sizeBytes)
  size.writeUIntLE(bytes, 0, sizeBytes)
  const record = Math.floor(((number - 1) * sizeBytes) / (records.roomy - (records.roomy % sizeBytes)))
  return {
    drop: number === 1 ? [objectsOf(key)] : [],
    append: [[objectsOf(key), String(record), size]],
  }
}

export function createObjectSizes(root: Root): Ledger['objectSizes'] {
  return (stream) =>
    root.under(stream, async (key) => {
      const all = await root.readAll(objectsOf(key), (_, value) => value)
      const records = [...all].sort(([one], [other]) => Number(one) - Number(other))
      const sizes = Buffer.concat(records.map(([, value]) => value))
      return Array.from({ length: sizes.length / sizeBytes }, (_, index) =>
        sizes.readUIntLE(index * sizeBytes, sizeBytes),
      )
    })
}
