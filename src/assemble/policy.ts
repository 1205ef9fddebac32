import type { Config } from '../config/schema/schema.ts'
import type { Policy } from '../domain/policy.ts'

export function policyOf({ poll }: Config): Policy {
  return {
    everyMs: poll.everySeconds * 1000,
    readableDays: poll.readableDays,
    firstRunDays: poll.firstRunDays,
    overlapMs: poll.overlapMinutes * 60_000,
    fullScanMs: poll.fullScanMinutes * 60_000,
    settleAfterMs: poll.settleAfterHours.map((hours) => hours * 3_600_000),
  }
}
