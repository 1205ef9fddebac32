import { Readable } from 'node:stream'
import type { PartEnd, PartReport } from '../../domain/audit-report.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Stream } from '../../domain/stream.ts'
import { decoded, isCompressed, linesIn, type PartText } from '../part-lines.ts'
import type { S3Bucket } from './client.ts'

/** Where the objects are. */
export interface Lake {
  readonly bucket: Pick<S3Bucket, 'list' | 'read'>
  readonly prefix: string
}

type Place = Pick<Stream, 'zone' | 'day'>
type Known = Pick<Checkpoint, 'objects' | 'repairedObjects'>

export interface ObjectInBucket {
  /** Without the folders. */
  readonly name: string
  /** As a store wrote it; absent for a name of another form. */
  readonly written?: { readonly storeId: string; readonly number: number }
}

const pattern = /^(.+?)-(\d{6,12})(?:-[\da-f]{16})?\.ndjson\.(?:gz|zst)$/
const lines = /\.ndjson(?:\.gz|\.zst)?$/

async function* objectsOf({ bucket, prefix }: Lake, { zone, day }: Place, signal: AbortSignal) {
  const folder = `${prefix}zone=${zone}/day=${day}/`
  for await (const { key, bytes } of bucket.list(folder, signal)) {
    const name = key.slice(folder.length)
    if (!lines.test(name)) continue
    const [, storeId = '', number] = pattern.exec(name) ?? []
    const object: ObjectInBucket =
      number === undefined ? { name } : { name, written: { storeId, number: Number(number) } }
    yield { ...object, key, bytes }
  }
}

/** Yields the lines of the chosen objects of a zone's day as `linesIn` does, by key. Changes nothing. Throws Failure. */
export async function* readObjects(
  lake: Lake,
  place: Place,
  isChosen: (object: ObjectInBucket) => boolean,
  signal: AbortSignal,
): AsyncGenerator<PartText | PartEnd> {
  for await (const object of objectsOf(lake, place, signal)) {
    if (!isChosen(object)) continue
    const { name, key, bytes } = object
    const pieces = decoded(name, Readable.from(lake.bucket.read(key, bytes, signal)))
    for await (const piece of linesIn(name, pieces))
      yield 'lines' in piece ? piece : { ...piece, isCompressed: isCompressed(name) }
  }
}

/** Whether the checkpoint counts its events as delivered. */
export function isCommitted({ written }: ObjectInBucket, storeId: string, { objects = 0 }: Known): boolean {
  return written?.storeId === storeId && written.number >= 1 && written.number <= objects
}

/** How a day in the bucket differs from the numbers that the store has. Changes nothing. Throws Failure. */
export async function compareObjects(
  lake: Lake,
  place: Place,
  { storeId, known }: { readonly storeId: string; readonly known: Known },
  signal: AbortSignal,
): Promise<PartReport[]> {
  const { objects: last = 0, repairedObjects = [] } = known
  const found = new Set<number>()
  const others: PartReport[] = []
  for await (const object of objectsOf(lake, place, signal)) {
    const { name: part, written } = object
    if (isCommitted(object, storeId, known)) found.add(written!.number)
    else if (written === undefined)
      others.push({ part, problem: 'foreign', why: 'its name is not the name of an object' })
    else if (written.storeId === storeId)
      others.push({ part, problem: 'unknown', why: 'no commit has it yet; the next delivery adopts it' })
    else
      others.push({
        part,
        problem: 'foreign',
        why: 'written under another store: the state was lost or replaced',
      })
  }
  const repaired = new Set(repairedObjects)
  for (let object = 1; object <= last; object++)
    if (!found.has(object)) {
      const isRepaired = repaired.has(object)
      const part = `${storeId}-${String(object).padStart(6, '0')}`
      const why = isRepaired ? 'a repair has shipped its events again' : 'the object is gone'
      others.push({ part, problem: 'missing', object, why, ...(isRepaired && { isRepaired }) })
    }
  return others
}
