import { messageOf } from '../../domain/failure.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'

export interface Readiness {
  readonly ready: boolean
  readonly reasons: readonly string[]
}

/** Why a process is not ready, in texts that contain nothing from the wire. */
export async function readinessOf(
  read: () => Promise<StateSnapshot>,
  readyLagSeconds: number,
  storeTrouble: string | undefined,
): Promise<Readiness> {
  // A store that is full can still be read.
  if (storeTrouble !== undefined)
    return { ready: false, reasons: [`the store refuses writes: ${storeTrouble}`] }
  let state: StateSnapshot
  try {
    state = await read()
  } catch (error) {
    return { ready: false, reasons: [`the store cannot be read: ${messageOf(error)}`] }
  }
  const reasons = state.refusedAccounts.map(
    (account) => `the API refuses the access key of account ${account}`,
  )
  const lagging = state.routes.filter(({ lagSeconds }) => lagSeconds > readyLagSeconds)
  const worst = lagging.toSorted((left, right) => right.lagSeconds - left.lagSeconds)[0]
  if (worst !== undefined) {
    const lag = `zone ${worst.zone} → ${worst.sink} has a lag of ${Math.round(worst.lagSeconds)} s`
    const others = lagging.length > 1 ? `, and so have ${lagging.length - 1} more` : ''
    reasons.push(`${lag} (more than ${readyLagSeconds} s)${others}`)
  }
  return { ready: reasons.length === 0, reasons }
}
