import { setImmediate } from 'node:timers/promises'

/** Work on a whole fleet is divided into steps of about this length, so that pumps and probes go on. */
const stepMs = 8

/** Call it often: it lets the event loop turn when this work has held it for a while. */
export function createTurns(clock: { monotonic(): number }): () => Promise<void> {
  let sinceMs = clock.monotonic()
  return async () => {
    if (clock.monotonic() - sinceMs < stepMs) return
    await setImmediate()
    sinceMs = clock.monotonic()
  }
}
