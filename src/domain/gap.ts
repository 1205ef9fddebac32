import type { Day } from './day.ts'

export const gapReasons = ['unreadable', 'not_running', 'not_configured', 'too_large', 'zone_gone'] as const
export type GapReason = (typeof gapReasons)[number]

/** Events of a zone and sink that can no longer be read. `from` and `to` are instants in ms since the epoch. */
export interface Gap {
  readonly zone: number
  readonly sink: string
  readonly day: Day
  readonly from: number
  readonly to: number
  readonly reason: GapReason
  readonly recordedAt: number
}
