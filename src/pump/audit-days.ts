import { isFailure, messageOf } from '../domain/failure.ts'
import type { Day } from '../domain/day.ts'
import type { Stream, Zone } from '../domain/stream.ts'
import type { StreamAudit } from './audit-report.ts'

export interface AuditDaysDeps {
  /** Throws a Failure when it could not look. */
  audit(zone: Zone, day: Day): Promise<readonly StreamAudit[]>
  /** Ships what a stream lacks; returns how many events that were. Throws Failure. Absent: nothing is repaired. */
  repair?(stream: Stream, zone: Zone): Promise<number>
}

export interface DaysAudit {
  readonly streams: readonly StreamAudit[]
  /** Where it could not look, or not look again, and why. */
  readonly blind: readonly string[]
  readonly unrepaired: readonly string[]
}

/** One zone after another; a zone that cannot be looked at does not keep the others from it. Throws `cancelled`. */
export async function auditDays(zones: readonly Zone[], day: Day, deps: AuditDaysDeps): Promise<DaysAudit> {
  const streams: StreamAudit[] = []
  const blind: string[] = []
  const unrepaired: string[] = []
  for (const zone of zones) {
    try {
      const found = await deps.audit(zone, day)
      const repaired = deps.repair === undefined ? [] : await repairAll(found, zone, deps.repair, unrepaired)
      // Also after a repair that failed: it may have shipped some.
      streams.push(...(repaired.length === 0 ? found : withGains(await deps.audit(zone, day), repaired)))
    } catch (error) {
      blind.push(`zone ${zone.id} on ${day} could not be looked at: ${reasonOf(error)}`)
    }
  }
  return { streams, blind, unrepaired }
}

interface Gain {
  readonly sink: string
  readonly events: number | undefined
}

async function repairAll(
  found: readonly StreamAudit[],
  zone: Zone,
  repair: NonNullable<AuditDaysDeps['repair']>,
  unrepaired: string[],
): Promise<Gain[]> {
  const gains: Gain[] = []
  for (const { isEqual, sink, day } of found) {
    if (isEqual) continue
    try {
      gains.push({ sink, events: await repair({ zone: zone.id, day, sink }, zone) })
    } catch (error) {
      gains.push({ sink, events: undefined })
      unrepaired.push(`zone ${zone.id} on ${day} → ${sink} was not repaired: ${reasonOf(error)}`)
    }
  }
  return gains
}

function withGains(streams: readonly StreamAudit[], gains: readonly Gain[]): StreamAudit[] {
  return streams.map((stream) => {
    const events = gains.find(({ sink }) => sink === stream.sink)?.events
    return events === undefined ? stream : { ...stream, repaired: events }
  })
}

/** A stop and a bug are nobody's report. */
function reasonOf(error: unknown): string {
  if (!isFailure(error) || error.code === 'cancelled') throw error
  return messageOf(error)
}
