import { isFailure, type Failure } from '../../domain/failure.ts'
import { concernsAccount } from '../read/check.ts'
import type { AuditTarget, TargetAudit } from './audit-target.ts'

export interface AuditDaysDeps {
  /** Throws only `cancelled`, and bugs. */
  audit(target: AuditTarget): Promise<TargetAudit>
  /** How many are compared at once. */
  readonly atOnce: number
  done(audited: TargetAudit): void
}

/** After this many failures of an account, and no answer, its other days are not read. */
const enoughFailures = 3

/**
 * Audits a few at once; one that cannot be compared does not stop the others. After `cancelled` it returns, and what
 * was not done by then is not reported.
 */
export async function auditDays(targets: readonly AuditTarget[], deps: AuditDaysDeps): Promise<void> {
  const waiting = [...targets]
  const accounts = new Map<string, { answers: number; failures: Failure[] }>()
  let isStopped = false

  async function auditNext(target: AuditTarget): Promise<void> {
    const account = accounts.get(target.zone.account) ?? { answers: 0, failures: [] }
    accounts.set(target.zone.account, account)
    const [failure] = account.failures
    if (account.answers === 0 && failure !== undefined && account.failures.length >= enoughFailures) {
      deps.done({ target, streams: [], files: [], unrepaired: [], failure })
      return
    }
    const audited = await deps.audit(target)
    if (audited.failure === undefined) account.answers++
    else if (concernsAccount(audited.failure)) account.failures.push(audited.failure)
    deps.done(audited)
  }

  async function work(): Promise<void> {
    for (let target = waiting.shift(); target !== undefined && !isStopped; target = waiting.shift()) {
      try {
        await auditNext(target)
      } catch (error) {
        isStopped = true
        if (!isFailure(error, 'cancelled')) throw error
      }
    }
  }

  await Promise.all(Array.from({ length: Math.min(deps.atOnce, targets.length) }, work))
}
