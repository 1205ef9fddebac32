import { orAborted } from '../domain/promises.ts'

/** A semaphore: a fixed number of slots, first come first served. */
export interface Slots {
  /** Resolves with a function that returns the slot, to be called once; rejects with `cancelled` on abort. */
  take(signal: AbortSignal): Promise<() => void>
}

export function createSlots(count: number): Slots {
  let free = count
  const waiting: (() => void)[] = []

  function giveBack(): void {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }

  return {
    async take(signal) {
      if (free > 0 && !signal.aborted) {
        free--
        return giveBack
      }
      const { promise: turn, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      try {
        await orAborted(turn, signal)
      } catch (error) {
        const place = waiting.indexOf(resolve)
        // The slot may have been granted in the same step as the abort; then the next waiter gets it.
        if (place === -1) giveBack()
        else waiting.splice(place, 1)
        throw error
      }
      return giveBack
    },
  }
}
