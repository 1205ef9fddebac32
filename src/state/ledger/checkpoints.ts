import type { Checkpoint } from '../../domain/checkpoint.ts'
import { createInTurn } from '../../domain/promises.ts'
import type { Catalogue } from '../../ports/store.ts'
import { checkpointOf, type LedgerDeps } from './streams.ts'
import { streamOf } from './root.ts'
import { setImmediate } from 'node:timers/promises'
import type { Changes, Records, TrackedCollection } from '../../ports/records.ts'
import { inParts } from './values.ts'

const noMark: readonly string[] = Object.freeze([])

/**
 * All checkpoints, for a plan every second, without their marks, which take more than the rest and serve a pump only. One
 * that has not changed is the same object as before.
 */
export function createCheckpoints({ records, root }: LedgerDeps): Catalogue['checkpoints'] {
  const inTurn = createInTurn()
  const listed = new Map<string, Checkpoint>()
  let { names } = root
  const mirror = createMirror(records, 'checkpoints', (key, value) => {
    const stream = streamOf(key, names)
    return stream && freeze({ ...checkpointOf(stream, value), mark: noMark })
  })
  return () =>
    inTurn(async () => {
      await root.refresh()
      if (names !== root.names) {
        ;({ names } = root)
        mirror.clear()
        listed.clear()
      }
      for (const key of await mirror.update()) {
        const checkpoint = mirror.get(key)
        if (checkpoint === undefined) listed.delete(key)
        else listed.set(key, checkpoint)
      }
      return [...listed.values()]
    })
}

/** Freezes a value that is given to several callers, deeply, so that none can change it. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const each of Object.values(value)) freeze<unknown>(each)
  return Object.freeze(value)
}

/** Their values are parsed in one step of the event loop, in about 5 ms. */
const readAtOnce = 64

/** A tracked collection in memory. */
export interface Mirror<Value> {
  get(key: string): Value | undefined
  /** Reads what changed since the last time, and returns these keys, those that are gone included. Not twice at once. */
  update(): Promise<ReadonlySet<string>>
  /** Everything is read again with the next update. */
  clear(): void
}

interface Mirrored<Value> {
  /** Of its latest put. */
  readonly number: number
  readonly value: Value | undefined
}

export function createMirror<Value>(
  records: Records,
  collection: TrackedCollection,
  valueOf: (key: string, value: Uint8Array) => Value | undefined,
): Mirror<Value> {
  const known = new Map<string, Mirrored<Value>>()
  let latest = 0
  /** Also of updates that failed. */
  let touched = new Set<string>()
  /** Of the numbers of all that is known. */
  let sum = 0n

  function set(key: string, mirrored: Mirrored<Value> | undefined): void {
    sum += BigInt(mirrored?.number ?? 0) - BigInt(known.get(key)?.number ?? 0)
    if (mirrored === undefined) known.delete(key)
    else known.set(key, mirrored)
  }

  async function readChanged(changed: Changes['changed']): Promise<void> {
    for (const [at, some] of [...inParts(changed, readAtOnce)].entries()) {
      if (at > 0) await setImmediate()
      const values = (await records.read({ [collection]: some.map(([key]) => key) })).found[collection]!
      for (const [index, [key, number]] of some.entries()) {
        const value = values[index]
        set(key, { number, value: value && valueOf(key, value) })
        touched.add(key)
      }
    }
  }

  /** Finds what is gone, and all that differs where the store was set back. */
  async function compareAll(): Promise<number> {
    const all = await records.changes(collection, 0)
    const left = new Map(all.changed)
    for (const key of [...known.keys()].filter((key) => !left.has(key))) {
      set(key, undefined)
      touched.add(key)
    }
    const different = all.changed.filter(([key, number]) => known.get(key)?.number !== number)
    await readChanged(different)
    return all.latest
  }

  return {
    get: (key) => known.get(key)?.value,
    async update() {
      const changes = await records.changes(collection, latest)
      await readChanged(changes.changed)
      const isWhole = sum === changes.sum && changes.latest >= latest
      latest = isWhole ? changes.latest : await compareAll()
      const told = touched
      touched = new Set()
      return told
    },
    clear() {
      known.clear()
      latest = 0
      sum = 0n
    },
  }
}
