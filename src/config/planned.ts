import type { Policy } from '../domain/policy.ts'
import type { Zone } from '../domain/stream.ts'
import type { Config } from './schema.ts'

const zonesByConfig = new WeakMap<Config, readonly Zone[]>()

/** The zones of all accounts. The same configuration has the same list, so that a plan can see that none has changed. */
export function zonesOf(config: Config): readonly Zone[] {
  let zones = zonesByConfig.get(config)
  if (zones === undefined) {
    zones = config.accounts.flatMap((account) => account.zones)
    zonesByConfig.set(config, zones)
  }
  return zones
}

/** When days are read. */
export function policyOf({ poll, sinks }: Config): Policy {
  return {
    everyMs: poll.everySeconds * 1000,
    everyMsOf: new Map(
      sinks.flatMap((sink) => ('everySeconds' in sink ? [[sink.name, sink.everySeconds * 1000]] : [])),
    ),
    readableDays: poll.readableDays,
    firstRunDays: poll.firstRunDays,
    overlapMs: poll.overlapMinutes * 60_000,
    fullScanMs: poll.fullScanMinutes * 60_000,
    settleAfterMs: poll.settleAfterHours.map((hours) => hours * 3_600_000),
  }
}
