import { Readable } from 'node:stream'
import type { PartEnd, PartLines, PartReport } from '../../domain/audit-report.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import { Failure, messageOf } from '../../domain/failure.ts'
import type { Table } from '../../ports/delivery.ts'
import { decoded, isCompressed, linesIn } from '../part-lines.ts'
import type { ObjectStore } from './store.ts'
import type { ZoneDay } from '../../domain/stream.ts'

/** Where the objects are. */
export interface Lake {
  readonly store: Pick<ObjectStore, 'list' | 'get'>
  readonly prefix: string
  /** The columns of Parquet objects, by their layout. */
  tableFor(layout: string): Table | undefined
  /** The sink ships at least once. */
  readonly mayRepeat: boolean
}

type Known = Pick<Checkpoint, 'objects' | 'repairedObjects' | 'resizedObjects'>

export interface ObjectInStore {
  /** Without the folders. */
  readonly name: string
  /** As a store wrote it; absent for a name of another form. */
  readonly written?: { readonly storeId: string; readonly number: number }
}

const pattern = /^(.+?)-(\d{6,12})(?:-[\da-f]{16})?\.(?:ndjson\.(?:gz|zst)|parquet)$/
const data = /\.(?:ndjson(?:\.gz|\.zst)?|parquet)$/

async function objectsOf({ store, prefix }: Lake, { zone, day }: ZoneDay, signal: AbortSignal) {
  const folder = `${prefix}shield_zone=${zone}/day=${day}/`
  const objects: (ObjectInStore & { readonly key: string; readonly bytes: number })[] = []
  for await (const { key, bytes } of store.list(folder, signal)) {
    const name = key.slice(folder.length)
    if (!data.test(name)) continue
    const [, storeId = '', number] = pattern.exec(name) ?? []
    const written = number === undefined ? {} : { written: { storeId, number: Number(number) } }
    objects.push({ name, key, bytes, ...written })
  }
  return objects
}

/** Yields the lines of the chosen objects of a zone's day as `linesIn` does, by key. Changes nothing. Throws Failure. */
export async function* readObjects(
  lake: Lake,
  place: ZoneDay,
  isChosen: (object: ObjectInStore) => boolean,
  signal: AbortSignal,
): AsyncGenerator<PartLines | PartEnd> {
  for (const { name, key } of (await objectsOf(lake, place, signal)).filter(isChosen)) {
    const body = await lake.store.get(key, signal)
    if (body === undefined) throw new Failure('retry', 'bad_body', `object ${key} was listed, and is gone`)
    if (name.endsWith('.parquet')) yield* rowsIn(name, body, lake)
    else
      for await (const piece of linesIn(name, decoded(name, Readable.from([body]))))
        yield 'lines' in piece ? piece : { ...piece, isCompressed: isCompressed(name) }
  }
}

/** The rows of a Parquet object as the lines that they stand for, as `linesIn` yields them. */
async function* rowsIn(part: string, body: Buffer, lake: Lake): AsyncGenerator<PartLines | PartEnd> {
  let [wholeLines, wholeBytes] = [0, 0]
  let damage: string | undefined
  const { readParquet } = await import('./parquet.ts')
  try {
    for await (const lines of readParquet(body, lake.tableFor)) {
      const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, -1)
      yield { part, from: wholeLines + 1, bytes, lines }
      wholeLines += lines.length
      wholeBytes += bytes + 1
    }
  } catch (error) {
    damage = messageOf(error)
  }
  const end = { part, wholeLines, wholeBytes, isTorn: false, isCompressed: true }
  yield damage === undefined ? end : { ...end, damage }
}

/** Whether the checkpoint counts its events as delivered. */
export function isCommitted(
  { written }: ObjectInStore,
  storeId: string,
  { objects }: Pick<Known, 'objects'>,
): boolean {
  return written?.storeId === storeId && written.number >= 1 && written.number <= (objects?.last ?? 0)
}

const adoptable = { why: 'no commit has it yet; the next delivery adopts it' }
const repeat = {
  why: 'no commit has it; its events are shipped again, in other objects',
  isRepeat: true,
} as const

/** How a day in the store of objects differs from the numbers and sizes that the store has. Changes nothing. Throws Failure. */
export async function compareObjects(
  lake: Lake,
  place: ZoneDay,
  {
    storeId,
    known,
    sizes,
  }: { readonly storeId: string; readonly known: Known; readonly sizes: readonly number[] },
  signal: AbortSignal,
): Promise<PartReport[]> {
  const { repairedObjects = [], resizedObjects = {} } = known
  const objects = await objectsOf(lake, place, signal)
  const isKnown = (object: ObjectInStore) => isCommitted(object, storeId, known)
  const others = objects.filter((object) => !isKnown(object))
  const byNumber = Map.groupBy(objects.filter(isKnown), ({ written }) => written!.number)
  const numbers = Array.from({ length: known.objects?.last ?? 0 }, (_, index) => index + 1)
  const differing = numbers.flatMap((object): PartReport[] => {
    const expectedBytes = resizedObjects[object] ?? sizes[object - 1] ?? 0
    const found = byNumber.get(object) ?? []
    if (found.some(({ bytes }) => expectedBytes === 0 || bytes === expectedBytes)) return []
    const [other] = found
    if (other !== undefined) {
      const why = 'an object of another size has its place'
      const { name: part, bytes: foundBytes } = other
      return [{ part, problem: 'changed', object, expectedBytes, foundBytes, why }]
    }
    const isRepaired = repairedObjects.includes(object)
    const part = `${storeId}-${String(object).padStart(6, '0')}`
    const why = isRepaired ? 'a repair has shipped its events again' : 'the object is gone'
    return [{ part, problem: 'missing', object, why, ...(isRepaired && { isRepaired }) }]
  })
  return [
    ...others.map(({ name: part, written }): PartReport => {
      const foreign = { part, problem: 'foreign' } as const
      if (written === undefined) return { ...foreign, why: 'its name is not the name of an object' }
      if (written.storeId === storeId)
        return { part, problem: 'unknown', ...(lake.mayRepeat ? repeat : adoptable) }
      return { ...foreign, why: 'written under another state, which was lost or replaced' }
    }),
    ...differing,
  ]
}
