import type { Config } from '../../config/schema/schema.ts'
import { problemsOf } from '../../domain/status/problems.ts'
import type { Status } from '../../domain/status/status.ts'
import { chooseSinks, chooseZones } from '../selection.ts'

export interface StatusChoice {
  readonly zone?: string[]
  readonly sink?: string[]
}

/** Checks the names once, and returns what leaves only the chosen zones and sinks. Throws UsageError. */
export function statusChooser(config: Config, { zone, sink }: StatusChoice): (status: Status) => Status {
  const zones = new Set(chooseZones(config, zone).map(({ id }) => id))
  const sinks = new Set(chooseSinks(config, sink).map(({ name }) => name))
  const hasZone = (id: number) => zone === undefined || zones.has(id)
  const hasSink = (name: string) => sink === undefined || sinks.has(name)
  const chosen = (status: Status) => ({
    ...status,
    routes: status.routes.filter((route) => hasZone(route.zone) && hasSink(route.sink)),
    deadLetters: status.deadLetters.filter((each) => hasSink(each.sink)),
    unconfigured: status.unconfigured.filter((each) => hasZone(each.zone) && hasSink(each.sink)),
  })
  return (status) => {
    const shown = chosen(status)
    return { ...shown, problems: problemsOf(shown) }
  }
}
