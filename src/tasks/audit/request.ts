import type { HeldSinks } from '../../assemble/held-sinks.ts'
import type { Shipping } from '../../assemble/shipping.ts'
import type { SinkConfig } from '../../config/schema.ts'
import type { Day } from '../../domain/day.ts'
import type { Zone } from '../../domain/stream.ts'
import type { SinkFiles } from '../../ports/delivery.ts'
import type { DayDeps } from './audit-day.ts'

/** What is to be compared, and how. */
export interface AuditRequest {
  readonly zones: readonly Zone[]
  /** Absent: all days that should be readable, without those before the first day of a route. */
  readonly days: readonly Day[] | undefined
  readonly sinks: readonly SinkConfig[]
  /** Ships what is missing, and compares again. */
  readonly repair: boolean
  /** Also reads the parts of file sinks and the objects of others, line by line. */
  readonly deep: boolean
  /** Gives days in detail, too. */
  readonly isReported: boolean
  /** Reports slow steps to the user. */
  readonly tell: (text: string) => void
  /** Called after each zone's day. */
  readonly progressed: (progress: AuditProgress) => void
}

/** `done` and `all` are zones' days, `listed` events. */
export interface AuditProgress {
  readonly done: number
  readonly all: number
  readonly listed: number
}

/** What all steps of an audit work with. */
export interface Auditing extends DayDeps, AuditRequest {
  readonly shipping: Shipping
  readonly files: ReadonlyMap<string, SinkFiles>
  /** Sinks to which nothing may be shipped, with the reason. */
  readonly held: HeldSinks
}
