import type { FoundEvents } from '../../days/found-events.ts'
import { serveRequest } from '../../days/hold-stream.ts'
import { unseeLost } from '../../days/unsee.ts'
import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import { unknownOrdering } from '../../domain/scan/ordering.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import type { ListedDay } from './audit-day.ts'
import type { FilesLooked } from './audit-files.ts'
import type { Auditing } from './request.ts'
import { isRepairable } from './result.ts'

/** What was found of a zone's day. */
export interface Looked {
  readonly streams: ListedDay['streams']
  readonly files: ReadonlyMap<string, FilesLooked>
  /** What the API lists, or why it could not be read: then only files were compared. */
  readonly listing: FoundEvents | Failure
}

/** What a repair did to one sink, for its reports, and the error that ended it. */
export interface Repaired {
  readonly repaired?: number
  readonly restored?: number
  readonly kept?: number
  readonly error?: string
}

/** First corrects what the store records about files, then ships all that is missing by one scan. */
export async function repairOne(
  { stream, zone }: { readonly stream: Stream; readonly zone: Zone },
  { streams, files, listing }: Looked,
  auditing: Auditing,
  signal: AbortSignal,
): Promise<Repaired | undefined> {
  const { shipping, held, tell, apiClock } = auditing
  const file = files.get(stream.sink)
  const looked = file !== undefined && isRepairable(file.report) ? file : undefined
  const isMissing = streams.some(({ audit }) => audit.sink === stream.sink && !audit.isEqual)
  if (looked === undefined && !isMissing) return undefined
  if (listing instanceof Error) return { error: listing.message }
  const why = held.get(stream.sink)
  if (why !== undefined) return { error: `sink ${stream.sink}: ${why}` }
  let done: Repaired = {}
  try {
    let [unseen, kept] = [0, 0]
    if (looked !== undefined) {
      ;({ unseen, kept } = await unseeLost({ stream, zone, looked, listing }, shipping.deps, signal))
      done = { restored: 0, kept }
    }
    tell(`repairing zone ${zone.id} on ${stream.day} → ${stream.sink}`)
    // Also where nothing is missing: opening the sink cuts what lies beyond the committed lengths.
    const readRequest = { id: crypto.randomUUID() }
    const planned = { stream, zone, ordering: unknownOrdering, priority: 'backfill', readRequest } as const
    const pump = (abort: AbortSignal) => shipping.pump(planned, abort, () => false)
    const serving = { ...auditing, pump, now: () => apiClock.now(zone.account) }
    const { outcome, reason, delivered } = await serveRequest(stream, readRequest, serving, signal)
    const restored = Math.min(unseen, delivered)
    return {
      // It may have shipped some events all the same.
      ...(outcome === 'left_out' && { error: reason ?? 'the day was left out' }),
      ...(looked !== undefined && { restored, kept }),
      ...(isMissing && { repaired: delivered - restored }),
    }
  } catch (error) {
    return { ...done, error: messageOf(failureOf(error)) }
  }
}

/** A stop and a bug do not become part of the report. */
export function failureOf(error: unknown): Failure {
  if (!isFailure(error) || error.code === 'cancelled') throw error
  return error
}
