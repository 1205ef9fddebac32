import type { Day } from '../../domain/day.ts'
import type { Failure } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import type { Store } from '../../ports/store.ts'
import type { FileAudit, StreamAudit } from '../../domain/audit-report.ts'

/** A zone's day, which is read once and compared for all of these sinks. */
export interface AuditTarget {
  readonly zone: Zone
  readonly day: Day
  /** Names. */
  readonly sinks: readonly string[]
}

export interface TargetAudit {
  readonly target: AuditTarget
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FileAudit[]
  /** Why it could not be compared, or not compared again after a repair. */
  readonly failure?: Failure
  /** Sinks whose repair failed, with the reason. */
  readonly unrepaired: readonly { readonly sink: string; readonly why: string }[]
}

export interface AuditChoice {
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly days: readonly Day[]
  /** False: a day before the first one of a route was never to be shipped there, and is left out. */
  readonly areDaysNamed: boolean
}

/** What there is to compare, zone by zone. Throws the Failures of a store. */
export async function auditTargets(
  { zones, sinks, days, areDaysNamed }: AuditChoice,
  store: Pick<Store, 'catalogue' | 'ledger'>,
): Promise<AuditTarget[]> {
  const routes = areDaysNamed ? [] : await store.catalogue.routes()
  const firstDays = new Map(routes.map(({ zone, sink, firstDay }) => [`${zone} ${sink}`, firstDay]))

  async function isChosen(stream: Stream): Promise<boolean> {
    const firstDay = firstDays.get(`${stream.zone} ${stream.sink}`)
    if (firstDay === undefined || stream.day >= firstDay) return true
    // A backfill may have shipped it.
    return (await store.ledger.read(stream)) !== undefined
  }

  const targets: AuditTarget[] = []
  for (const zone of zones) {
    for (const day of days) {
      const chosen: string[] = []
      for (const sink of sinks) if (await isChosen({ zone: zone.id, day, sink })) chosen.push(sink)
      if (chosen.length > 0) targets.push({ zone, day, sinks: chosen })
    }
  }
  return targets
}

/** Whether a running process is to read this stream although it has no checkpoint yet. */
export async function isPlanned(
  { zone, day, sink }: Stream,
  { catalogue }: Pick<Store, 'catalogue'>,
): Promise<boolean> {
  const routes = await catalogue.routes()
  return routes.some((route) => route.zone === zone && route.sink === sink && route.firstDay <= day)
}
