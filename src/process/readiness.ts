import type { MissingZones } from '../discovery/zone-directory.ts'
import { messageOf } from '../domain/failure.ts'
import type { Observation } from '../domain/observation.ts'
import { lagLimitOf } from '../domain/plan/route-state.ts'
import { paceOf } from '../domain/policy.ts'
import { counted } from '../domain/text/terminal-text.ts'
import { durationText } from '../domain/text/time.ts'
import type { WriteFailure } from '../ports/store.ts'

export interface ReadinessFacts {
  readonly phase: 'starting' | 'running' | 'stopping'
  /** Why the state cannot be opened. */
  readonly trouble: string | undefined
  readonly missing: MissingZones | undefined
  readonly writeFailure: WriteFailure | undefined
  readonly observe: () => Promise<Observation>
  readonly readyLagSeconds: number
}

/**
 * Why the process is not ready, in texts that contain nothing from the wire; none where it is. `/readyz` and the
 * heartbeat say it.
 */
export async function reasonsNotReady(facts: ReadinessFacts): Promise<string[]> {
  const { phase, trouble, missing, writeFailure, observe, readyLagSeconds } = facts
  if (trouble !== undefined) return [trouble]
  if (phase !== 'running') return [`the process is ${phase}`]
  if (missing !== undefined) {
    const why = missing.failure === undefined ? '' : ` (${missing.failure.code})`
    return [`the zones of account ${missing.account} have not been listed yet${why}`]
  }
  // A store that is full can still be read.
  if (writeFailure !== undefined) return [`the state cannot be written: ${writeFailure.message}`]
  try {
    return reasonsIn(await observe(), readyLagSeconds)
  } catch (error) {
    return [`the state cannot be read: ${messageOf(error)}`]
  }
}

/** Accounts without a key that works, and the route that lags most. */
function reasonsIn({ refusedAccounts, routes, settings }: Observation, readyLagSeconds: number): string[] {
  const reasons = refusedAccounts.map((account) => `the API refuses the access key of account ${account}`)
  const lagging = routes.flatMap(({ summary: { zone, sink, lagSeconds } }) => {
    const limit = lagLimitOf(readyLagSeconds, paceOf(settings.policy, { sink }))
    return lagSeconds > limit ? [{ zone, sink, lagSeconds, limit }] : []
  })
  const worst = lagging.toSorted((left, right) => right.lagSeconds - left.lagSeconds)[0]
  if (worst === undefined) return reasons
  const { zone, sink, lagSeconds, limit } = worst
  const others = lagging.length === 1 ? '' : `; so have ${counted(lagging.length - 1, 'other route')}`
  return [
    ...reasons,
    `zone ${zone} → ${sink} has a lag of ${durationText(lagSeconds)} (more than ${durationText(limit)})${others}`,
  ]
}
