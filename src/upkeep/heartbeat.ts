import { isFailure } from '../domain/failure.ts'
import type { NoticedProblem } from '../domain/notices.ts'
import { repeat } from '../domain/promises.ts'
import type { Clock, Telemetry } from '../ports/process.ts'

interface HeartbeatDeps {
  readonly clock: Clock
  readonly telemetry: Telemetry
  readonly everyMs: number
  /** Why the process is not ready; none where it is. */
  readonly notReady: () => Promise<readonly string[]>
  /** Asked where it is ready. Throws Failure. */
  readonly problems: () => Promise<readonly NoticedProblem[]>
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
  const { clock, telemetry, everyMs, leads, send } = deps

  async function beat(): Promise<void> {
    // First: a process that has just begun is not ready.
    await clock.sleep(everyMs, signal)
    const reasons = await reasonsOf(deps)
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

/** What waits for a person, whether it is ready or not. */
const waiting = new Set<NoticedProblem['kind']>(['gap', 'unwritable', 'lost', 'dead_letters', 'differs'])

/** Why not all is well; none where it is. */
async function reasonsOf({ notReady, problems }: HeartbeatDeps): Promise<readonly string[]> {
  const reasons = await notReady()
  if (reasons.length > 0) return reasons
  const standing = (await problems()).filter(({ kind }) => waiting.has(kind))
  return standing.map(({ brief, text }) => brief ?? text)
}
