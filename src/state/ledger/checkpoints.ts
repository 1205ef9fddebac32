import { setImmediate } from 'node:timers/promises'
import { createInTurn } from '../../domain/promises.ts'
import type { Catalogue } from '../../ports/store.ts'
import type { Changes, Records, TrackedCollection } from '../../ports/records.ts'
import { streamOf, type Names } from './root.ts'
import { checkpointOf, type LedgerDeps } from './streams.ts'
import { inParts, readMany } from './values.ts'

const noMark: readonly string[] = Object.freeze([])

/**
 * All checkpoints, for a plan every second, without their marks, which take more than the rest and serve a pump only. One
 * that has not changed is the same object as before.
 */
export function createCheckpoints({ records, root }: LedgerDeps): Catalogue['checkpoints'] {
  const inTurn = createInTurn()
  const mirror = createMirror(records, 'checkpoints', (key, value, names) => {
    const stream = streamOf(key, names)
    return stream && { ...checkpointOf(stream, value), mark: noMark }
  })
  return () =>
    inTurn(async () => {
      await root.refresh()
      await mirror.update(root.names)
      return mirror.values()
    })
}

/** Their values are parsed in one step of the event loop, in about 5 ms. */
const readAtOnce = 64

/**
 * A tracked collection in memory. `touch` is told of each key that was put or is gone, also by an update that fails
 * afterwards.
 */
export function createMirror<Value extends object>(
  records: Records,
  collection: TrackedCollection,
  valueOf: (key: string, value: Uint8Array, names: Names) => Value | undefined,
  touch: (key: string, value: Value | undefined) => void = () => undefined,
) {
  /** `number`: of its latest put. */
  const known = new Map<string, { readonly number: number; readonly value: Value | undefined }>()
  let latest = 0
  /** Of the numbers of all that is known. */
  let sum = 0n
  let readUnder: Names | undefined

  function set(key: string, number: number, value: Value | undefined): void {
    sum += BigInt(number) - BigInt(known.get(key)?.number ?? 0)
    known.set(key, { number, value })
    touch(key, value)
  }

  function drop(key: string): void {
    set(key, 0, undefined)
    known.delete(key)
  }

  async function readChanged(changed: Changes['changed'], names: Names): Promise<void> {
    for (const [at, some] of [...inParts(changed, readAtOnce)].entries()) {
      if (at > 0) await setImmediate()
      const keys = some.map(([key]) => key)
      const values = await readMany(records, collection, keys)
      for (const [index, [key, number]] of some.entries()) {
        const value = values[index]
        set(key, number, value && valueOf(key, value, names))
      }
    }
  }

  return {
    values: (): Value[] => [...known.values()].flatMap(({ value }) => value ?? []),
    /** Reads what changed since the last time; everything where the names have changed. Not twice at once. */
    async update(names: Names): Promise<void> {
      if (names !== readUnder) {
        for (const key of known.keys()) drop(key)
        latest = 0
        readUnder = names
      }
      const changes = await records.changes(collection, latest)
      await readChanged(changes.changed, names)
      if (sum === changes.sum && changes.latest >= latest) {
        latest = changes.latest
        return
      }
      // Something was removed, or the store was set back.
      const all = await records.changes(collection, 0)
      const left = new Map(all.changed)
      for (const key of known.keys()) if (!left.has(key)) drop(key)
      const different = all.changed.filter(([key, number]) => known.get(key)?.number !== number)
      await readChanged(different, names)
      latest = all.latest
    },
  }
}
