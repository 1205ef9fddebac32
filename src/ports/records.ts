/**
 * Records by collection and key, in one store. Names of collections and keys are well-formed text of at least one letter,
 * without NUL or line breaks. Every method may throw Failure `store_unavailable` (retry) or `store_refuses` (stop).
 */
export interface Records {
  /** Bytes up to which a record that grows takes little more space than its content. */
  readonly roomy: number
  /**
   * The records of these keys in their order, undefined for one that is absent, all of one moment. Ask for at most 500
   * keys at once.
   */
  read<Collection extends string>(
    asked: Readonly<Record<Collection, readonly string[]>>,
  ): Promise<ReadRecords<Collection>>
  /**
   * All records of a collection in pages of about `atOnce`, in no order. What is there all the time comes at least once,
   * perhaps twice. The event loop turns between pages.
   */
  scan(
    collection: string,
    atOnce: number,
  ): AsyncIterable<readonly (readonly [key: string, value: Uint8Array])[]>
  /**
   * All of it, or nothing: false where a condition does not hold. Durable when it resolves, unless `loosely`. It may be
   * carried out twice, where an answer was lost, or late, after the call has failed: it must depend on a record that it
   * changes, or be harmless then.
   */
  write(write: Write): Promise<boolean>
  /** What was put in a collection after change number `since`. All of it is of one moment. */
  changes(collection: TrackedCollection, since: number): Promise<Changes>
  /** Frees the space of dropped collections, in steps. Call it after a drop of many records. */
  reclaim(): Promise<void>
  /** May be called twice. */
  close(): Promise<void>
}

/** The collections whose changes a store numbers. */
export type TrackedCollection = 'checkpoints' | 'backfilled'

export function isTracked(collection: string): collection is TrackedCollection {
  return collection === 'checkpoints' || collection === 'backfilled'
}

export interface ReadRecords<Collection extends string = string> {
  /** The time of the store, µs since the epoch, taken after the records. */
  readonly nowUs: number
  readonly found: Readonly<Record<Collection, readonly (Uint8Array | undefined)[]>>
}

/** The parts apply in this order. A key occurs in one of them only. Above 1,000 keys a store is busy for over 20 ms. */
export interface Write {
  readonly when: readonly Condition[]
  /** Adds to a number, which is decimal text; an absent one is 0. */
  readonly add?: readonly (readonly [...RecordKey, number])[]
  /** Empties collections that are not tracked, in little time whatever they hold. */
  readonly drop?: readonly string[]
  readonly remove?: readonly RecordKey[]
  readonly put?: readonly (readonly [...RecordKey, Uint8Array | string])[]
  /** Adds bytes to the end of a record, or makes it. Not in tracked collections. */
  readonly append?: readonly (readonly [...RecordKey, Uint8Array])[]
  /** Puts the time of the store, µs since the epoch, as decimal text. Not in tracked collections. */
  readonly stamp?: readonly RecordKey[]
  /** A power cut may lose it. */
  readonly loosely?: boolean
}

/** A record that is byte for byte so (undefined: absent), or a number that is not higher. Keep them small. */
export type Condition = { readonly collection: string; readonly key: string } & (
  { readonly is: Uint8Array | string | undefined } | { readonly atMost: number }
)

export type RecordKey = readonly [collection: string, key: string]

/**
 * Records that were put in one write share a number. A caller whose own sum differs from `sum` afterwards, or that knows
 * a higher number than `latest`, missed removals or a restore: it asks again since 0, drops the keys that are gone and
 * reads those whose number differs.
 */
export interface Changes {
  readonly latest: number
  /** Of the numbers of all records of the collection. */
  readonly sum: bigint
  /** Keys with the number of their latest put, in the order of the numbers. */
  readonly changed: readonly (readonly [key: string, number: number])[]
}
