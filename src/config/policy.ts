import type { Policy } from '../domain/policy.ts'
import { paceOf } from '../sinks/objects/settings.ts'
import type { Config } from './schema.ts'

/** When days are read. */
export function policyOf({ poll, sinks }: Config): Policy {
  return {
    everyMs: poll.everySeconds * 1000,
    everyMsOf: new Map(
      sinks.flatMap((sink) => ('everySeconds' in sink ? [[sink.name, paceOf(sink) * 1000]] : [])),
    ),
    readableDays: poll.readableDays,
    firstRunDays: poll.firstRunDays,
    overlapMs: poll.overlapMinutes * 60_000,
    fullScanMs: poll.fullScanMinutes * 60_000,
    settleAfterMs: poll.settleAfterHours.map((hours) => hours * 3_600_000),
  }
}
