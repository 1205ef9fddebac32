import { randomUUID } from 'node:crypto'
import type { Day } from '../../domain/day.ts'
import { Failure } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Condition, Records, Write } from '../../ports/records.ts'

/** The layout of records that this version reads and writes. */
const layoutNumber = 4

/** The record of the store itself. */
interface StoreRecord {
  readonly id: string
  readonly layout: number
  /** New streams get a higher fence, so that none is given twice although the stream that had it is gone. */
  readonly floor: number
}

export interface NamesRecord {
  /** Stored name by name of a sink, for sinks where they differ. */
  readonly stored: Readonly<Record<string, string>>
  /** How many stored names were made. */
  readonly made: number
  readonly renaming?: { readonly from: string; readonly to: string; readonly sinceUs: number }
}

/** In stored names that were made by a rename; no sink has it in its name. */
export const madeMark = '~'

/** A rename is given up after this time, so that a process that died in it blocks nobody. */
export const renamingForUs = 20_000_000

/** Keys that one read may ask for, and records that one write outside of a commit changes. */
export const keysAtOnce = 500

/** What a try answers when others changed meanwhile what it had read. */
export const again = Symbol('again')

const maxTries = 20
const maxPauseMs = 10
const never = new AbortController().signal

/** Parts of a write. */
export type PartialWrite = Partial<Write>

/**
 * The records, and the two of them that all others depend on, as this process knows them: the store itself, and the
 * names of sinks. A write that used one of them names it in its conditions.
 */
export class Root {
  readonly records: Records
  readonly clock: Clock
  /** Where the store is, for messages. */
  readonly place: string
  #storeValue: Uint8Array | undefined
  store: StoreRecord | undefined
  /** The same object as long as the record is the same: what depends on names compares objects. */
  names = namesOf(undefined)
  /** Of the store when it was last read: another one once the store was emptied. */
  id = ''

  constructor({ records, clock, place }: Pick<Root, 'records' | 'clock' | 'place'>) {
    this.records = records
    this.clock = clock
    this.place = place
  }

  get whenStore(): Condition {
    return { collection: 'store', key: 'store', is: this.#storeValue }
  }

  /** Makes the store if there is none. Throws `no_store` without `create`, and `store_refuses`. */
  open(create: boolean): Promise<void> {
    return this.untilDecided(async () => {
      await this.refresh()
      if (this.store?.layout === layoutNumber) return undefined
      if (this.store !== undefined) {
        const text = `the state (${this.place}) has schema ${this.store.layout}, and this version supports only schema ${layoutNumber}`
        const remedy = 'run the version that made it, or set `state` to another place'
        throw new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
      }
      if (!create) {
        const remedy = 'start `run` once, or set `state` to the right place'
        throw new Failure('stop', 'no_store', `there is no state in ${this.place}: ${remedy}`)
      }
      const made: StoreRecord = { id: randomUUID(), layout: layoutNumber, floor: 0 }
      await this.records.write({ when: [this.whenStore], put: [['store', 'store', JSON.stringify(made)]] })
      return again
    })
  }

  /** Reads both again, and returns the store's time. */
  async refresh(): Promise<number> {
    return (await this.refreshWith({})).nowUs
  }

  /** Reads both again, together with other records. */
  async refreshWith<Name extends string>(asked: Readonly<Record<Name, readonly string[]>>) {
    const read = await this.records.read({ ...asked, store: ['store', 'names'] })
    const [store, names] = read.found.store
    this.#storeValue = store
    this.store = jsonOf(store)
    this.id = this.store?.id ?? this.id
    const text = names && textOf(names)
    if (text !== this.names.text) this.names = namesOf(text)
    return read
  }

  /** Work on the records of a stream by their key; again if its sink was renamed meanwhile. */
  under<T>(stream: Stream, work: (key: string) => Promise<T>): Promise<T> {
    return this.untilDecided(async () => {
      const before = this.names
      const [result] = await Promise.all([work(keyOf(stream, before)), this.refresh()])
      return this.names === before ? result : again
    })
  }

  /**
   * Reads, decides and writes, if the names of sinks and all that the write depends on are still as they were read; and
   * again where they are not. Throws `store_unavailable` while one of these sinks is being renamed.
   */
  change<T>(
    sinks: readonly string[],
    decide: (names: Names) => Promise<{ readonly result: T; readonly write?: PartialWrite }>,
  ): Promise<T> {
    return this.untilDecided(async () => {
      const nowUs = await this.refresh()
      const { names } = this
      for (const sink of sinks) refuseRenaming(names, sink, nowUs)
      const { result, write } = await decide(names)
      if (write === undefined) return result
      const when = [names.condition, ...(write.when ?? [])]
      return (await this.records.write({ ...write, when })) ? result : again
    })
  }

  /**
   * Repeats a try that reads, decides and writes on condition that what it read is still so. Of several that contend one
   * always gets through. Throws `store_unavailable` when others are quicker too often.
   */
  async untilDecided<T>(attempt: () => Promise<T | typeof again>): Promise<T> {
    for (let tries = 1; tries <= maxTries; tries++) {
      const decided = await attempt()
      if (decided !== again) return decided
      if (tries > 2) await this.clock.sleep(Math.random() * maxPauseMs, never)
    }
    const text = 'other processes keep changing what this one wants to change'
    throw new Failure('retry', 'store_unavailable', text)
  }

  /** Those of any number of records that are there, by key. Only those of a part are of one moment. */
  async readMany(collection: string, keys: readonly string[]): Promise<Map<string, Uint8Array>> {
    const parts = [...inParts(keys, keysAtOnce)].map(async (some) => {
      const { found } = await this.records.read({ [collection]: some })
      return some.flatMap((key, index) => {
        const value = found[collection]![index]
        return value === undefined ? [] : [[key, value] as const]
      })
    })
    return new Map((await Promise.all(parts)).flat())
  }

  async readOne(collection: string, key: string): Promise<Uint8Array | undefined> {
    return (await this.readMany(collection, [key])).get(key)
  }

  /** The values of a whole collection by key, without those that `valueOf` knows nothing of. */
  async readAll<Value>(
    collection: string,
    valueOf: (key: string, value: Uint8Array) => Value | undefined,
  ): Promise<Map<string, Value>> {
    const all = new Map<string, Value>()
    for await (const page of this.records.scan(collection, keysAtOnce))
      for (const [key, bytes] of page) {
        const value = valueOf(key, bytes)
        if (value !== undefined) all.set(key, value)
      }
    return all
  }

  /** Replaces records, which are JSON, by what `change` makes of each; undefined leaves one as it is. `items`: by key. */
  async changed<Value, Item>(
    collection: string,
    items: ReadonlyMap<string, Item>,
    change: (before: Value | undefined, item: Item) => Value | undefined,
  ): Promise<Required<Pick<Write, 'when' | 'put'>>> {
    const values = await this.readMany(collection, [...items.keys()])
    const changes = [...items].flatMap(([key, item]) => {
      const is = values.get(key)
      const value = change(jsonOf<Value>(is), item)
      return value === undefined ? [] : [{ key, is, text: JSON.stringify(value) }]
    })
    return {
      when: changes.map(({ key, is }) => ({ collection, key, is })),
      put: changes.map(({ key, text }) => [collection, key, text]),
    }
  }
}

export function textOf(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
}

/* oxlint-disable typescript/no-unnecessary-type-parameters -- the caller knows what it wrote */
export function jsonOf<T>(value: Uint8Array): T
export function jsonOf<T>(value: Uint8Array | undefined): T | undefined
export function jsonOf<T>(value: Uint8Array | undefined): T | undefined {
  return value && (JSON.parse(textOf(value)) as T)
}
/* oxlint-enable typescript/no-unnecessary-type-parameters */

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function* inParts<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size)
}

export type Names = ReturnType<typeof namesOf>

/**
 * Records name a sink by its stored name, so that a rename moves none of them: it gives the new name the stored name of
 * the old one. A stored name that belongs to no sink any more is that of a replaced one.
 */
export function namesOf(text: string | undefined) {
  const record: NamesRecord = text === undefined ? { stored: {}, made: 0 } : (JSON.parse(text) as NamesRecord)
  const stored = new Map(Object.entries(record.stored))
  const sinks = new Map([...stored].map(([sink, own]) => [own, sink]))
  return {
    record,
    text,
    /** That the store has this record. */
    condition: { collection: 'store', key: 'names', is: text },
    storedOf: (sink: string): string => stored.get(sink) ?? sink,
    /** Undefined for a replaced one. */
    sinkOf: (own: string): string | undefined =>
      sinks.get(own) ?? (stored.has(own) || own.includes(madeMark) ? undefined : own),
  }
}

/** Throws `store_unavailable` while the sink is being renamed: nothing of it may begin meanwhile. */
export function refuseRenaming({ record }: Names, sink: string, nowUs: number): void {
  const { renaming } = record
  if (renaming === undefined || (renaming.from !== sink && renaming.to !== sink)) return
  if (Math.abs(nowUs - renaming.sinceUs) >= renamingForUs) return
  const text = `the sink ${renaming.from} is being renamed to ${renaming.to}: the next try will find it done`
  throw new Failure('retry', 'store_unavailable', text)
}

/** Keys of records that belong to a sink end with its stored name. */
export function storedIn(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1)
}

/** The key of a stream's records. */
export function keyOf({ zone, day, sink }: Stream, names: Names): string {
  return `${zone}/${day}/${names.storedOf(sink)}`
}

/** The key of the records of the route of a stream with that key. */
export function routeOf(key: string): string {
  return `${key.slice(0, key.indexOf('/'))}/${storedIn(key)}`
}

/** Undefined for a stream of a replaced sink. */
export function streamOf(key: string, names: Names): Stream | undefined {
  const [zone = '', day = '', stored = ''] = key.split('/')
  const sink = names.sinkOf(stored)
  return sink === undefined ? undefined : { zone: Number(zone), day: day as Day, sink }
}
