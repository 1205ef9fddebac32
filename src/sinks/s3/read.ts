import { Readable } from 'node:stream'
import type { PartEnd, PartLines, PartReport } from '../../domain/audit-report.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Stream } from '../../domain/stream.ts'
import { decoded, isCompressed, linesIn } from '../part-lines.ts'
import type { S3Bucket } from './client.ts'

/** Where the objects are. */
export interface Lake {
  readonly bucket: Pick<S3Bucket, 'list' | 'read'>
  readonly prefix: string
  /** The sink ships at least once. */
  readonly mayRepeat: boolean
}

type Place = Pick<Stream, 'zone' | 'day'>
type Known = Pick<Checkpoint, 'objectBytes' | 'repairedObjects'>

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
): AsyncGenerator<PartLines | PartEnd> {
  for await (const object of objectsOf(lake, place, signal)) {
    if (!isChosen(object)) continue
    const { name, key, bytes } = object
    const pieces = decoded(name, Readable.from(lake.bucket.read(key, bytes, signal)))
    for await (const piece of linesIn(name, pieces))
      yield 'lines' in piece ? piece : { ...piece, isCompressed: isCompressed(name) }
  }
}

/** Whether the checkpoint counts its events as delivered. */
export function isCommitted(
  { written }: ObjectInBucket,
  storeId: string,
  { objectBytes = [] }: Known,
): boolean {
  return written?.storeId === storeId && written.number >= 1 && written.number <= objectBytes.length
}

const adoptable = { why: 'no commit has it yet; the next delivery adopts it' }
const repeat = {
  why: 'no commit has it; its events are shipped again, in other objects',
  isRepeat: true,
} as const

/** How a day in the bucket differs from the numbers and sizes that the store has. Changes nothing. Throws Failure. */
export async function compareObjects(
  lake: Lake,
  place: Place,
  { storeId, known }: { readonly storeId: string; readonly known: Known },
  signal: AbortSignal,
): Promise<PartReport[]> {
  const { objectBytes = [], repairedObjects = [] } = known
  const found = new Set<number>()
  const changed = new Map<number, PartReport>()
  const others: PartReport[] = []
  for await (const object of objectsOf(lake, place, signal)) {
    const { name: part, written, bytes } = object
    if (isCommitted(object, storeId, known)) {
      const { number } = written!
      const expectedBytes = objectBytes[number - 1]!
      const why = 'an object of another size has its place'
      if (expectedBytes === 0 || bytes === expectedBytes) found.add(number)
      else
        changed.set(number, {
          part,
          problem: 'changed',
          object: number,
          expectedBytes,
          foundBytes: bytes,
          why,
        })
    } else if (written === undefined)
      others.push({ part, problem: 'foreign', why: 'its name is not the name of an object' })
    else if (written.storeId === storeId)
      others.push({ part, problem: 'unknown', ...(lake.mayRepeat ? repeat : adoptable) })
    else
      others.push({
        part,
        problem: 'foreign',
        why: 'written under another store: the state was lost or replaced',
      })
  }
  const repaired = new Set(repairedObjects)
  for (let object = 1; object <= objectBytes.length; object++)
    if (!found.has(object) && changed.has(object)) others.push(changed.get(object)!)
    else if (!found.has(object)) {
      const isRepaired = repaired.has(object)
      const part = `${storeId}-${String(object).padStart(6, '0')}`
      const why = isRepaired ? 'a repair has shipped its events again' : 'the object is gone'
      others.push({ part, problem: 'missing', object, why, ...(isRepaired && { isRepaired }) })
    }
  return others
}
