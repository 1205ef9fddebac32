import { setImmediate } from 'node:timers/promises'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import type { Changes, ReadRecords, Records, Write, Written } from '../../ports/records.ts'
import { isTracked, nextNumber } from '../tracked.ts'

interface Collection {
  readonly records: Map<string, { readonly value: Uint8Array; readonly number: number }>
  /** The latest change number; 0 in a collection that is not tracked. */
  latest: number
}

/** What several openings share, as processes share a store. */
export type MemoryState = Map<string, Collection>

/** Records that end with the process. */
export function createMemoryRecords(clock: Clock, state: MemoryState = new Map()): Records {
  let isClosed = false
  const refuseClosed = (): void => {
    if (isClosed) throw new Failure('retry', 'store_unavailable', 'the store (memory) is closed')
  }
  const nowUs = (): number => Math.floor(clock.now() * 1_000)
  const read = (collection: string, key: string) => state.get(collection)?.records.get(key)?.value.slice()
  return {
    roomy: 2_040,
    async read<Name extends string>(asked: Readonly<Record<Name, readonly string[]>>) {
      refuseClosed()
      const collections = Object.entries<readonly string[]>(asked)
      const found = collections.map(([name, keys]) => [name, keys.map((key) => read(name, key))] as const)
      return { nowUs: nowUs(), found: Object.fromEntries(found) as unknown as ReadRecords<Name>['found'] }
    },
    async readRuns(collection, keys) {
      refuseClosed()
      return keys.map((key) => {
        const run: Uint8Array[] = []
        for (let value = read(collection, key); value !== undefined;) {
          run.push(value)
          value = read(collection, `${key}.${run.length}`)
        }
        return run
      })
    },
    async *scan(collection, atOnce) {
      refuseClosed()
      const keys = [...(state.get(collection)?.records.keys() ?? [])]
      for (let from = 0; from < keys.length; from += atOnce) {
        const page = keys.slice(from, from + atOnce).map((key) => [key, read(collection, key)] as const)
        yield page.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]))
        await setImmediate()
      }
    },
    async write(asked) {
      refuseClosed()
      return write(state, asked, nowUs())
    },
    async changes(collection, since) {
      refuseClosed()
      return changesOf(state.get(collection), since)
    },
    reclaim: async () => undefined,
    async close() {
      isClosed = true
    },
  }
}

function write(
  state: MemoryState,
  { when, add = [], drop = [], remove = [], put = [], append = [], stamp = [] }: Write,
  nowUs: number,
): Written {
  const held = (collection: string, key: string) => state.get(collection)?.records.get(key)?.value
  for (const { collection, key, is } of when)
    if (!isSame(held(collection, key), is)) return { outcome: 'changed', nowUs }
  const sums = add.map(({ collection, key, by, most = Infinity }) => {
    const sum = Number(Buffer.from(held(collection, key) ?? [0x30]).toString()) + by
    return { collection, key, sum, isOver: by > 0 && sum > most }
  })
  const over = sums.find(({ isOver }) => isOver)
  if (over !== undefined) return { outcome: 'over', nowUs, sum: over.sum }

  const numbered = new Set<Collection>()
  const set = (name: string, key: string, value: Uint8Array): void => {
    const collection = state.get(name) ?? { records: new Map(), latest: 0 }
    state.set(name, collection)
    if (isTracked(name) && !numbered.has(collection)) {
      collection.latest = nextNumber(collection.latest, nowUs / 1_000)
      numbered.add(collection)
    }
    collection.records.set(key, { value, number: collection.latest })
  }
  for (const { collection, key, sum } of sums) set(collection, key, bytesOf(String(sum)))
  for (const collection of drop) state.get(collection)?.records.clear()
  for (const [collection, key] of remove) state.get(collection)?.records.delete(key)
  for (const [collection, key, value] of put) set(collection, key, bytesOf(value))
  for (const [collection, key, more] of append)
    set(collection, key, bytesOf(Buffer.concat([held(collection, key) ?? new Uint8Array(), more])))
  for (const [collection, key] of stamp) set(collection, key, bytesOf(String(nowUs)))
  return { outcome: 'done', nowUs }
}

function changesOf(collection: Collection | undefined, since: number): Changes {
  const all = [...(collection?.records ?? [])].map(([key, { number }]) => [key, number] as const)
  return {
    latest: collection?.latest ?? 0,
    sum: all.reduce((sum, [, number]) => sum + BigInt(number), 0n),
    changed: all.filter(([, number]) => number > since).toSorted(([, one], [, other]) => one - other),
  }
}

function isSame(value: Uint8Array | undefined, is: Uint8Array | string | undefined): boolean {
  if (value === undefined || is === undefined) return value === is
  return Buffer.compare(value, bytesOf(is)) === 0
}

/** A copy, so that no caller changes a record later. */
function bytesOf(value: Uint8Array | string): Uint8Array {
  return typeof value === 'string' ? new TextEncoder().encode(value) : new Uint8Array(value)
}
