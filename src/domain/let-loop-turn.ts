/** Work on a whole fleet is divided into steps of about this length, so that pumps and probes are not delayed. */
const stepMs = 8

export interface TurnDeps {
  readonly clock: { now(): number; monotonic(): number }
  /** Lets the event loop turn. */
  readonly turn: () => Promise<unknown>
}

/**
 * Call it often: it lets the event loop turn when this work has held it for a while, and at the first call, since other
 * work may have held it before.
 */
export function createTurns({ clock, turn }: TurnDeps): () => Promise<void> {
  let sinceMs = -Infinity
  return async () => {
    if (clock.monotonic() - sinceMs < stepMs) return
    await turn()
    sinceMs = clock.monotonic()
  }
}
