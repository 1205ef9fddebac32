import { randomUUID } from 'node:crypto'
import type { Day } from '../../domain/day.ts'
import { Failure } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Condition, Records } from '../../ports/records.ts'
import { again, jsonOf, textOf, untilDecided, type Part } from './values.ts'

/** The layout of records that this version reads and writes. */
const layoutNumber = 3

/** The record of the store itself. */
export interface StoreRecord {
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

/**
 * Records name a sink by its stored name, so that a rename moves none of them: it gives the new name the stored name of
 * the old one. A stored name that belongs to no sink any more is that of a replaced one.
 */
export interface Names {
  readonly record: NamesRecord
  readonly text: string | undefined
  /** That the store has this record. */
  readonly condition: Condition
  storedOf(sink: string): string
  /** Undefined for a replaced one. */
  sinkOf(stored: string): string | undefined
}

/** In stored names that were made by a rename; no sink has it in its name. */
export const madeMark = '~'

/** A rename is given up after this time, so that a process that died in it blocks nobody. */
export const renamingForUs = 20_000_000

export interface RootOptions {
  readonly records: Records
  readonly clock: Clock
  /** Where the store is, for messages. */
  readonly place: string
}

/**
 * The two records that all others depend on, as this process knows them: the store itself, and the names of sinks. A
 * write that used one of them names it in its conditions.
 */
export class Root {
  readonly #options: RootOptions
  #storeValue: Uint8Array | undefined
  store: StoreRecord | undefined
  /** The same object as long as the record is the same: what depends on names compares objects. */
  names = namesOf(undefined)
  /** Of the store when it was last read: another one once the store was emptied. */
  id = ''

  constructor(options: RootOptions) {
    this.#options = options
  }

  get whenStore(): Condition {
    return { collection: 'store', key: 'store', is: this.#storeValue }
  }

  /** Makes the store if there is none. Throws `no_store` without `create`, and `store_refuses`. */
  open(create: boolean): Promise<void> {
    const { records, clock, place } = this.#options
    return untilDecided(clock, async () => {
      await this.refresh()
      if (this.store?.layout === layoutNumber) return undefined
      if (this.store !== undefined) throw foreign(place, this.store.layout)
      if (!create) throw noStore(place)
      const made: StoreRecord = { id: randomUUID(), layout: layoutNumber, floor: 0 }
      await records.write({ when: [this.whenStore], put: [['store', 'store', JSON.stringify(made)]] })
      return again
    })
  }

  /** Reads both again, and returns the store's time. */
  async refresh(): Promise<number> {
    const { nowUs, found } = await this.#options.records.read({ store: ['store', 'names'] })
    const [store, names] = found.store
    this.#storeValue = store
    this.store = store && jsonOf<StoreRecord>(store)
    this.id = this.store?.id ?? this.id
    const text = names && textOf(names)
    if (text !== this.names.text) this.names = namesOf(text)
    return nowUs
  }

  /** Work on the records of a stream by their key; again if its sink was renamed meanwhile. */
  under<T>(stream: Stream, work: (key: string) => Promise<T>): Promise<T> {
    return untilDecided(this.#options.clock, async () => {
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
    decide: (names: Names) => Promise<{ readonly result: T; readonly write?: Part }>,
  ): Promise<T> {
    const { records, clock } = this.#options
    return untilDecided(clock, async () => {
      const nowUs = await this.refresh()
      const { names } = this
      for (const sink of sinks) refuseRenaming(names, sink, nowUs)
      const { result, write } = await decide(names)
      if (write === undefined) return result
      const when = [names.condition, ...(write.when ?? [])]
      return (await records.write({ ...write, when })) ? result : again
    })
  }
}

function noStore(place: string): Failure {
  const remedy = 'start `run` once, or set `state` to the right store'
  return new Failure('stop', 'no_store', `there is no store in ${place}: ${remedy}`)
}

function foreign(place: string, layout: number): Failure {
  const text = `the store (${place}) has schema ${layout}, and this version supports only schema ${layoutNumber}`
  const remedy = 'run the version that made it, or set `state` to another place'
  return new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
}

export function namesOf(text: string | undefined): Names {
  const record = text === undefined ? { stored: {}, made: 0 } : (JSON.parse(text) as NamesRecord)
  const stored = new Map(Object.entries(record.stored))
  const sinks = new Map([...stored].map(([sink, own]) => [own, sink]))
  return {
    record,
    text,
    condition: { collection: 'store', key: 'names', is: text },
    storedOf: (sink) => stored.get(sink) ?? sink,
    sinkOf: (own) => sinks.get(own) ?? (stored.has(own) || own.includes(madeMark) ? undefined : own),
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

/** Undefined for a stream of a replaced sink. */
export function streamOf(key: string, names: Names): Stream | undefined {
  const [zone = '', day = '', stored = ''] = key.split('/')
  const sink = names.sinkOf(stored)
  return sink === undefined ? undefined : { zone: Number(zone), day: day as Day, sink }
}
