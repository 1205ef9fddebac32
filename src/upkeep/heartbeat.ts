import { isFailure } from '../domain/failure.ts'
import { repeat } from '../domain/promises.ts'
import type { Clock, Telemetry } from '../ports/process.ts'

interface HeartbeatDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly everyMs: number
  /** Why the process is not ready; none where it is. */
  readonly notReady: () => Promise<readonly string[]>
  /** Whether this process of several tells. Rejects where that is not known at the moment. */
  readonly leads: () => Promise<boolean>
  /** Throws Failure. */
  readonly send: (reasons: readonly string[], signal: AbortSignal) => Promise<void>
}

/**
 * Says that all is well, or why not, to a monitor that notices when nobody says anything, until the signal aborts. Never
 * rejects.
 */
export async function keepBeating(deps: HeartbeatDeps, signal: AbortSignal): Promise<void> {
  const { clock, telemetry, everyMs, notReady, leads, send } = deps

  async function beat(): Promise<void> {
    // First: a process that has just begun is not ready.
    await clock.sleep(everyMs, signal)
    const reasons = await notReady()
    // Where the state does not answer, that is what several processes may say.
    if (!(await leads().catch(() => reasons.length > 0))) return
    await send(reasons, signal)
    telemetry.emit({ name: 'HeartbeatSent' })
  }

  function failed(error: unknown): void {
    if (isFailure(error)) telemetry.emit({ name: 'HeartbeatFailed', failure: error })
    else telemetry.emit({ name: 'UpkeepFailed', task: 'notices', error })
  }

  await repeat(0, beat, { clock, failed }, signal)
}
