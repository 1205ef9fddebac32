import { orAborted } from '../domain/within.ts'

/** So many at a time, first come first served. */
export interface Slots {
  /** Resolves with a function that gives the slot back (safe twice); rejects with `cancelled` on abort. */
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

  function onceGivenBack(): () => void {
    let given = false
    return () => {
      if (given) return
      given = true
      giveBack()
    }
  }

  return {
    async take(signal) {
      if (free > 0 && !signal.aborted) {
        free--
        return onceGivenBack()
      }
      const { promise: turn, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      try {
        await orAborted(turn, signal)
      } catch (error) {
        const place = waiting.indexOf(resolve)
        // The turn may have come in the very step of the abort: then it is passed on.
        if (place === -1) giveBack()
        else waiting.splice(place, 1)
        throw error
      }
      return onceGivenBack()
    },
  }
}
