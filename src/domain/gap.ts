import type { Stream } from './stream.ts'

export const gapReasons = ['unreadable', 'not_running', 'not_configured', 'too_large', 'zone_gone'] as const
export type GapReason = (typeof gapReasons)[number]

/** Completes "events were lost, because …". */
export const gapReasonTexts: Readonly<Record<GapReason, string>> = {
  unreadable: 'the day was not read to its end before the API stopped listing it',
  not_running: 'no shieldlog process ran while the API listed the day',
  not_configured: 'the route was not configured while the API listed the day',
  too_large: 'a page was larger than api.maxPageBytes',
  zone_gone: 'the API no longer knows the zone',
}

/** Events of a zone and sink that can no longer be read. `from` and `to` are instants in ms since the epoch. */
export interface Gap extends Stream {
  readonly from: number
  readonly to: number
  readonly reason: GapReason
  readonly recordedAt: number
  /** Copies of lines that were cut off files of the day: some of the events may be there. */
  readonly files?: readonly string[]
  /** When a person said that they know of it; absent until then. An acknowledged gap stays one, without an alarm. */
  readonly acknowledgedAt?: number
}

export function isOpenGap({ acknowledgedAt }: { readonly acknowledgedAt?: unknown }): boolean {
  return acknowledgedAt === undefined
}
