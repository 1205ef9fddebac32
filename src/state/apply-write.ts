import type { Condition, TrackedCollection, Write } from '../ports/records.ts'

const tracked: Readonly<Record<TrackedCollection, true>> = {
  checkpoints: true,
  backfills: true,
  backfilled: true,
}

/** Whether a store numbers the changes of this collection. */
export function isTracked(collection: string): collection is TrackedCollection {
  return Object.hasOwn(tracked, collection)
}

const since2026 = Date.UTC(2026)

/**
 * The change number that follows the latest one. It is at least the ms since 2026, so that a store that was restored
 * from an older state does not give a number that it gave already. Sums of a million of them stay below 2^63.
 */
export function nextNumber(latest: number, nowUs: number): number {
  return Math.max(latest + 1, Math.floor(nowUs / 1_000) - since2026)
}

/** What a write does to the records of a store in this process. All that one write puts share a change number. */
export interface Cells {
  get(collection: string, key: string): Uint8Array | undefined
  put(collection: string, key: string, value: Uint8Array): void
  append(collection: string, key: string, more: Uint8Array): void
  remove(collection: string, key: string): void
  drop(collection: string): void
}

/** A whole write, or nothing and false where a condition does not hold. */
export function applyWrite(cells: Cells, write: Write, nowUs: number): boolean {
  const { when, add = [], drop = [], remove = [], put = [], append = [], stamp = [] } = write
  if (!when.every((condition) => holds(condition, cells.get(condition.collection, condition.key))))
    return false
  for (const [collection, key, by] of add)
    cells.put(collection, key, bytesOf(String(numberOf(cells.get(collection, key)) + by)))
  for (const collection of drop) cells.drop(collection)
  for (const [collection, key] of remove) cells.remove(collection, key)
  for (const [collection, key, value] of put) cells.put(collection, key, bytesOf(value))
  for (const [collection, key, more] of append) cells.append(collection, key, more)
  for (const [collection, key] of stamp) cells.put(collection, key, bytesOf(String(nowUs)))
  return true
}

function holds(condition: Condition, value: Uint8Array | undefined): boolean {
  if ('atMost' in condition) return numberOf(value) <= condition.atMost
  const { is } = condition
  return value === undefined || is === undefined ? value === is : Buffer.compare(value, bytesOf(is)) === 0
}

function numberOf(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number(Buffer.from(value).toString())
}

function bytesOf(value: Uint8Array | string): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value
}
