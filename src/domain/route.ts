import type { Day } from './day.ts'

/** A zone and sink that the store knows, with the first day that is planned for it; kept for good. */
export interface Route {
  readonly zone: number
  readonly sink: string
  readonly firstDay: Day
  /** Last instant at which the route was part of a running configuration. */
  readonly plannedAtMs: number
}

export function routeKey(zone: number, sink: string): string {
  return `${zone}/${sink}`
}
