import type { Clock } from '../ports/clock.ts'

/** Longer than a slice of work for a sink that takes what it is given. */
const hangsAfterMs = 20_000

/**
 * Tells which sinks have taken nothing for long although they are waited for. Their live streams that have no place yet
 * could do nothing with one, so they keep no backfill of another sink back.
 */
export interface SinkPulse {
  began(sink: string): void
  /** `good`: the sink took what it was given, or was given nothing. */
  ended(sink: string, good: boolean): void
  hangs(sink: string): boolean
  hanging(): readonly string[]
}

export function createSinkPulse(clock: Clock): SinkPulse {
  /** Of sinks that are worked for: since when without any good end. */
  const sinks = new Map<string, { pumps: number; sinceMs: number }>()
  const hangs = (sink: string): boolean => {
    const held = sinks.get(sink)
    return held !== undefined && clock.monotonic() - held.sinceMs > hangsAfterMs
  }
  return {
    began(sink) {
      const held = sinks.get(sink)
      if (held === undefined) sinks.set(sink, { pumps: 1, sinceMs: clock.monotonic() })
      else held.pumps++
    },
    ended(sink, good) {
      const held = sinks.get(sink)
      if (held === undefined) return
      held.pumps--
      if (good) held.sinceMs = clock.monotonic()
      if (held.pumps === 0) sinks.delete(sink)
    },
    hangs,
    hanging: () => [...sinks.keys()].filter(hangs),
  }
}
