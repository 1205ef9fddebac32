import type { Checkpoint } from '../../domain/checkpoint.ts'
import { createInTurn } from '../../domain/promises.ts'
import type { Catalogue } from '../../ports/store.ts'
import { checkpointOf, type LedgerDeps } from './holders.ts'
import { createMirror } from './mirror.ts'
import { streamOf } from './root.ts'

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
