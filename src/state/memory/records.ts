import { setImmediate } from 'node:timers/promises'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import type { ReadRecords, Records } from '../../ports/records.ts'
import { applyWrite, isTracked, nextNumber, type Cells } from '../apply-write.ts'

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
  const copyOf = (collection: string, key: string) => state.get(collection)?.records.get(key)?.value.slice()
  return {
    roomy: 2_040,
    async read<Name extends string>(asked: Readonly<Record<Name, readonly string[]>>) {
      refuseClosed()
      const collections = Object.entries<readonly string[]>(asked)
      const found = collections.map(([name, keys]) => [name, keys.map((key) => copyOf(name, key))] as const)
      return { nowUs: nowUs(), found: Object.fromEntries(found) as unknown as ReadRecords<Name>['found'] }
    },
    async *scan(collection, atOnce) {
      refuseClosed()
      const keys = [...(state.get(collection)?.records.keys() ?? [])]
      for (let from = 0; from < keys.length; from += atOnce) {
        const page = keys.slice(from, from + atOnce).map((key) => [key, copyOf(collection, key)] as const)
        yield page.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]))
        await setImmediate()
      }
    },
    async write(write) {
      refuseClosed()
      return applyWrite(createCells(state, nowUs()), write, nowUs())
    },
    async changes(name, since) {
      refuseClosed()
      const { latest = 0, records = [] } = state.get(name) ?? {}
      const all = [...records].map(([key, { number }]) => [key, number] as const)
      return {
        latest,
        sum: all.reduce((sum, [, number]) => sum + BigInt(number), 0n),
        changed: all.filter(([, number]) => number > since).toSorted(([, one], [, other]) => one - other),
      }
    },
    reclaim: async () => undefined,
    async close() {
      isClosed = true
    },
  }
}

function createCells(state: MemoryState, nowUs: number): Cells {
  const numbered = new Set<Collection>()
  const get = (name: string, key: string) => state.get(name)?.records.get(key)?.value
  const put: Cells['put'] = (name, key, value) => {
    const collection = state.get(name) ?? { records: new Map(), latest: 0 }
    state.set(name, collection)
    if (isTracked(name) && !numbered.has(collection)) {
      collection.latest = nextNumber(collection.latest, nowUs)
      numbered.add(collection)
    }
    // A copy, so that no caller changes a record later.
    collection.records.set(key, { value: new Uint8Array(value), number: collection.latest })
  }
  return {
    get,
    put,
    append: (name, key, more) => put(name, key, Buffer.concat([get(name, key) ?? new Uint8Array(), more])),
    remove: (name, key) => state.get(name)?.records.delete(key),
    drop: (name) => state.get(name)?.records.clear(),
  }
}
