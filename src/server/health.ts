/** The last turn of a loop that must keep running (tick, worker), in ms of the monotonic clock. */
export interface LoopTurn {
  readonly loop: string
  /** The start of the loop counts as a turn. */
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
 * Healthy while every loop has turned recently. The state of the API, the sinks and the store does not count: a restart
 * would not fix them. The answer itself shows that the event loop runs.
 */
export function healthOf(turns: readonly LoopTurn[], everySeconds: number, nowMs: number): HealthState {
  const patienceMs = Math.max(leastPatienceMs, patienceTurns * everySeconds * 1000)
  const loops = turns.map(({ loop, turnedAtMs }) => {
    const sinceMs = Math.max(0, nowMs - turnedAtMs)
    return { loop, secondsSinceTurn: Math.round(sinceMs / 1000), healthy: sinceMs <= patienceMs }
  })
  return { healthy: loops.every(({ healthy }) => healthy), loops }
}
