import { type Day, daysFrom, endOf } from '../../domain/day.ts'
import { type Zone, streamKey, type Stream } from '../../domain/stream.ts'
import type { Source } from '../../ports/delivery.ts'
import type { Store } from '../../ports/store.ts'
import type { Clock } from '../../ports/process.ts'
import type { ApiClock } from '../../pump/api-clock.ts'
import type { Policy } from '../../domain/policy.ts'
import { setClocks } from '../../plan/planner.ts'
import type { Backfilled } from '../../domain/plan/backfill.ts'
import { shippedText, noLongerKept } from '../../pump/end-stream.ts'
import { todayOf, isReadable } from '../../domain/plan/stream-state.ts'
import { fewAtOnce } from '../../domain/promises.ts'
import { sumOf } from '../../domain/text/terminal-text.ts'
import { createPageEstimate } from '../../plan/backfill-progress.ts'
import { readDay } from '../../days/read-day.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'

/** What a backfill was asked for. */
export interface BackfillOptions {
  readonly from?: Day
  readonly to?: Day
  readonly zone?: string[]
  readonly sink?: string[]
  readonly source?: string
  readonly watch?: boolean
  readonly dryRun?: boolean
  readonly resend?: boolean
  readonly yes?: boolean
}

export interface BackfillRequest {
  readonly from: Day
  readonly to: Day
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  /** All of these days once more, not only what is missing: they are to count as not shipped (`unseeDay`). */
  readonly resend?: boolean
}

export type BackfillPlan = Awaited<ReturnType<typeof planBackfill>>

interface BackfillPlanDeps extends AgeLimits {
  readonly source: Source
  /** Undefined where no store exists yet. */
  readonly store: Store | undefined
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly policy: Policy
}

/** Zones that are read at once. */
const askedAtOnce = 4

const notBegun = 'the day has not begun yet'
/**
 * Decides for each zone's days whether they can be read. Requests days that should no longer be readable once, the
 * newest first, since how long the API keeps a day is only a setting; days older than a refused one are left out
 * without a request. Throws `cancelled`, and the Failures of a store.
 */
export async function planBackfill(request: BackfillRequest, deps: BackfillPlanDeps, signal: AbortSignal) {
  const checkpoints = (await deps.store?.catalogue.checkpoints()) ?? []
  setClocks(checkpoints, request.zones, deps.apiClock)
  const byKey = new Map(checkpoints.map((checkpoint) => [streamKey(checkpoint.stream), checkpoint]))
  const streams: Backfilled[] = []

  async function whyLeftOut(stream: Stream, nowMs: number): Promise<string | undefined> {
    const tooOld = tooOldFor(stream, nowMs, deps)
    // A resend is for what was shipped, whatever is known of it.
    if (tooOld !== undefined || request.resend === true) return tooOld
    const dropped = await deps.store?.ledger.dropped(stream)
    return dropped && shippedText(dropped, byKey.get(streamKey(stream)))
  }

  async function planZone(zone: Zone): Promise<void> {
    let refusal: string | undefined
    // From the newest day on: what an answer shows of the API's clock and of the days it keeps also holds for older days.
    for (const day of daysFrom(request.from, request.to).reverse()) {
      const nowMs = deps.apiClock.now(zone.account)
      const hasBegun = day <= todayOf(nowMs)
      if (hasBegun && refusal === undefined && !isReadable(day, nowMs, deps.policy))
        refusal = await refusalOf(zone, day, deps, signal)
      for (const sink of request.sinks) {
        const stream: Stream = { zone: zone.id, day, sink }
        const reason = (hasBegun ? refusal : notBegun) ?? (await whyLeftOut(stream, nowMs))
        streams.push(
          reason === undefined ? { stream, state: 'queued' } : { stream, state: 'left_out', reason },
        )
      }
    }
  }

  await fewAtOnce(request.zones, askedAtOnce, planZone)
  streams.sort(({ stream: one }, { stream: other }) =>
    one.day === other.day ? one.zone - other.zone : one.day < other.day ? -1 : 1,
  )
  const earlier = streams.flatMap(({ stream, state }) =>
    state === 'queued' ? (byKey.get(streamKey(stream))?.counters ?? []) : [],
  )
  const delivered = earlier.length === 0 ? undefined : sumOf(earlier, 'delivered')
  return {
    ...request,
    /** The oldest day first. */
    streams,
    /** How many requests each queued stream is likely to take. */
    estimate: createPageEstimate(checkpoints),
    /** How many events the queued streams have delivered; undefined where nothing is known. */
    delivered,
  }
}

/** Requests the first page of a day. Undefined when the API answers for it. */
async function refusalOf(
  zone: Zone,
  day: Day,
  deps: BackfillPlanDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pages = readDay({ zone, day }, deps, signal)
  try {
    await pages.next()
    return undefined
  } catch (error) {
    if (!isFailure(error) || error.kind === 'cancelled') throw error
    deps.apiClock.learnFrom(zone.account, day, error)
    return error.code === 'window_closed' ? noLongerKept : `it could not be read: ${messageOf(error)}`
  } finally {
    await pages.return(undefined)
  }
}

export interface AgeLimits {
  /** Age from which on a sink's destination takes no event; undefined where it takes any. */
  readonly maxAgeHoursOf: (sink: string) => number | undefined
}

const hourMs = 3_600_000

/** Why the destination would take no event of a day; undefined where it takes some. */
export function tooOldFor(
  { day, sink }: Pick<Stream, 'day' | 'sink'>,
  nowMs: number,
  { maxAgeHoursOf }: AgeLimits,
): string | undefined {
  const hours = maxAgeHoursOf(sink)
  if (hours === undefined || endOf(day) > nowMs - hours * hourMs) return undefined
  return `its events are too old for the destination, which takes none older than ${hours} h (batch.maxAgeHours)`
}
