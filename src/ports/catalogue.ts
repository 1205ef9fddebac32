import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Gap } from '../domain/gap.ts'
import type { Route } from '../domain/route.ts'

/** What there is to know of all streams together: for plans, status and metrics. */
export interface Catalogue {
  /** All checkpoints, ended ones included. Asked for each second: what has not changed since is not read again. */
  checkpoints(): Promise<Checkpoint[]>
  routes(): Promise<Route[]>
  /** Remembers routes as planned now; the first day of a known route stays. */
  rememberRoutes(routes: readonly Route[]): Promise<void>
  gaps(): Promise<Gap[]>
  /** Adds gaps that belong to no pump (days missed while nothing ran). One that stands already is not added twice. */
  addGaps(gaps: readonly Gap[]): Promise<void>
}
