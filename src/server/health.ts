/** When a loop that must keep turning (tick, worker) last did, by the clock that never jumps, ms. */
export interface LoopTurn {
  readonly loop: string
  /** Its start counts as a turn. */
  readonly turnedAtMs: number
}

export interface HealthState {
  readonly healthy: boolean
  readonly loops: readonly {
    readonly loop: string
    readonly secondsSinceTurn: number
    readonly healthy: boolean
  }[]
}

const leastPatienceMs = 60_000
const patienceTurns = 3

/**
 * Healthy while every loop has turned lately. API, sinks and store have no say: a restart would not help them. That the
 * event loop answers is shown by the answer itself.
 */
export function healthOf(turns: readonly LoopTurn[], everySeconds: number, nowMs: number): HealthState {
  const patienceMs = Math.max(leastPatienceMs, patienceTurns * everySeconds * 1000)
  const loops = turns.map(({ loop, turnedAtMs }) => {
    const sinceMs = Math.max(0, nowMs - turnedAtMs)
    return { loop, secondsSinceTurn: Math.round(sinceMs / 1000), healthy: sinceMs <= patienceMs }
  })
  return { healthy: loops.every(({ healthy }) => healthy), loops }
}
