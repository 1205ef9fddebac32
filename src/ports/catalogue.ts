import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Gap } from '../domain/gap.ts'
import type { Route } from '../domain/route.ts'
import type { KnownSink } from '../domain/known-sink.ts'
import type { ZoneList } from '../domain/zone-list.ts'

/** Data of all streams together, for plans, status and metrics. */
export interface Catalogue {
  /**
   * Checkpoints of all streams, ended ones included, without their marks. Called every second: what has not changed
   * is not read again.
   */
  checkpoints(): Promise<Checkpoint[]>
  routes(): Promise<Route[]>
  /** Stores routes as planned. Of two first days of a route the earlier is kept; the instant is replaced. */
  rememberRoutes(routes: readonly Route[]): Promise<void>
  gaps(): Promise<Gap[]>
  /** Adds gaps outside a commit (days missed while nothing ran). A gap that exists already is not added twice. */
  addGaps(gaps: readonly Gap[]): Promise<void>
  /** Marks those of these gaps that are in the store and not acknowledged yet; returns how many these were. */
  acknowledgeGaps(gaps: readonly Gap[], atMs: number): Promise<number>
  /** All sinks that were stored, by name. */
  sinks(): Promise<KnownSink[]>
  /** Stores kind and place of sinks. The former names of a known one stay. */
  rememberSinks(sinks: readonly Omit<KnownSink, 'formerly'>[]): Promise<void>
  /** The lists of accounts whose zones are discovered, by account. Every process that ships reads its zones here. */
  zoneLists(): Promise<ZoneList[]>
  /** Replaces the list of its account. */
  storeZoneList(list: ZoneList): Promise<void>
}
