import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import type { Clock } from '../../ports/process.ts'
import { FamilyText, labelText } from './exposition.ts'
import type { LabelSets } from './label-sets.ts'
import { stateMetrics } from './metric-definitions.ts'
import type { Labels, MetricDefinition } from './metric-definition.ts'
import { createStateReading, type Reading } from './state-reading.ts'

export interface StateGauges {
  /** Reads the store and writes the gauges, in bounded time even when the store hangs. As `FamilyText` gives it. */
  text(sets: LabelSets, letTurn: () => Promise<void>): Promise<string[]>
  outdate(): void
}

type StateMetric = keyof typeof stateMetrics
type Families = Readonly<Record<StateMetric, FamilyText>>

/** How many routes are written before the event loop may turn. */
const routesAtOnce = 250

export function createStateGauges(
  prefix: string,
  read: () => Promise<StateSnapshot>,
  clock: Clock,
): StateGauges {
  const reading = createStateReading(read, clock)

  /** The gauges are many: they are written straight away, without a value for each series in memory. */
  async function write({ snapshot, atMs }: Reading, isUp: boolean, to: Writing): Promise<void> {
    const ageSeconds = (clock.monotonic() - atMs) / 1000
    for (const [index, route] of snapshot.routes.entries()) {
      if (index % routesAtOnce === routesAtOnce - 1) await to.letTurn()
      const [zone, sink] = [String(route.zone), route.sink]
      if (!to.sets.has('zones', zone) || !to.sets.has('sinks', sink)) continue
      writeRoute(route, labelText({ zone, sink }), { ...to, isUp, ageSeconds })
    }
    if (!isUp) return
    for (const { zone, sink, gaps } of snapshot.leftGaps)
      to.families.gaps.add(labelText({ zone: String(zone), sink }), gaps)
    writeTotals(snapshot, to)
  }

  return {
    async text(sets, letTurn) {
      const isUp = await reading.refresh()
      const families = familiesOf(prefix)
      families.stateUp.add('', isUp ? 1 : 0)
      const latest = reading.latest()
      if (latest !== undefined) await write(latest, isUp, { families, sets, letTurn })
      return Object.values(families).flatMap((family) => family.text())
    },
    outdate: () => reading.outdate(),
  }
}

interface Writing {
  readonly families: Families
  readonly sets: LabelSets
  readonly letTurn: () => Promise<void>
}

function familiesOf(prefix: string): Families {
  const families = Object.entries(stateMetrics).map(([metric, definition]) => [
    metric,
    new FamilyText({ ...definition, name: prefix + definition.name }),
  ])
  return Object.fromEntries(families) as Families
}

/**
 * Lag is always present once it was known: while the store does not answer, nothing is committed, so lag grows in real
 * time and an alert on it continues.
 */
function writeRoute(
  route: StateSnapshot['routes'][number],
  labels: string,
  { families, isUp, ageSeconds }: Writing & { readonly isUp: boolean; readonly ageSeconds: number },
): void {
  families.lag.add(labels, route.lagSeconds + ageSeconds)
  families.timeToLoss.add(labels, route.timeToLossSeconds - ageSeconds)
  if (!isUp) return
  families.caughtUp.add(labels, route.caughtUpAtMs / 1000)
  if (route.newestMs !== undefined) families.newestEvent.add(labels, route.newestMs / 1000)
  families.gaps.add(labels, route.gaps)
}

/** Every series of the configured names, with 0 where nothing is known. */
function writeTotals(snapshot: StateSnapshot, { families, sets }: Writing): void {
  const writeAll = (metric: 'deadLetters' | 'queueJobs' | 'streams', rows: readonly Row[]) => {
    const definition: MetricDefinition = stateMetrics[metric]
    const values = new Map(rows.map(({ labels, value }) => [sets.textOf(definition, labels), value]))
    for (const labels of sets.combinations(definition)) families[metric].add(labels, values.get(labels) ?? 0)
  }
  writeAll(
    'streams',
    Object.entries(snapshot.streams).map(([state, value]) => ({ labels: { state }, value })),
  )
  writeAll(
    'deadLetters',
    snapshot.deadLetters.map(({ sink, count }) => ({ labels: { sink }, value: count })),
  )
  writeAll(
    'queueJobs',
    snapshot.queues.map(({ priority, state, jobs }) => ({ labels: { priority, state }, value: jobs })),
  )
}

interface Row {
  readonly labels: Labels
  readonly value: number
}
