import type { Day } from '../day.ts'
import type { ReadRequest } from '../read-request.ts'
import { streamKey, type Stream, routeKey } from '../stream.ts'

/** `done`: none of its streams is queued any more. */
export type BackfillState = 'running' | 'paused' | 'cancelled' | 'done'

export interface Backfilled {
  readonly stream: Stream
  /**
   * - `queued`: its read request is still to be served.
   * - `done`: a complete full scan that began for this backfill has read it.
   * - `left_out`: it cannot be read any more; `reason` says why.
   */
  readonly state: 'queued' | 'done' | 'left_out'
  readonly reason?: string
}

export function reasonsOf(
  streams: readonly { readonly stream: Stream; readonly reason?: string | undefined }[],
): (Stream & { readonly reason: string })[] {
  return streams.flatMap(({ stream, reason }) => (reason === undefined ? [] : [{ ...stream, reason }]))
}

/** Past days that a person asked for. Each of its queued streams has a read request with the backfill's id. */
export interface Backfill {
  readonly id: string
  readonly createdAtMs: number
  readonly from: Day
  readonly to: Day
  readonly state: BackfillState
  readonly streams: readonly Backfilled[]
}

export function stateAfter(backfill: Pick<Backfill, 'state' | 'streams'>): BackfillState {
  if (backfill.state === 'cancelled') return 'cancelled'
  return backfill.streams.some(({ state }) => state === 'queued') ? backfill.state : 'done'
}

export type Requests = ReturnType<typeof requestsOf>

/** What running and paused backfills wait for. */
export function requestsOf(backfills: readonly Backfill[] = []) {
  const awaited = new Map<string, string>()
  const requested = new Map<string, { readonly stream: Stream; readonly readRequest: ReadRequest }>()
  for (const { id, state, streams } of backfills) {
    if (state !== 'running' && state !== 'paused') continue
    for (const { stream, state: own } of streams) {
      if (own !== 'queued') continue
      const key = streamKey(stream)
      awaited.set(key, routeKey(stream.zone, stream.sink))
      if (state === 'running' && !requested.has(key)) requested.set(key, { stream, readRequest: { id } })
    }
  }
  const byRoute = Map.groupBy(requested.values(), ({ stream }) => routeKey(stream.zone, stream.sink))
  return {
    /** Routes, by `zone/sink`, with streams that a backfill waits for. */
    routes: new Set(awaited.values()) as ReadonlySet<string>,
    /**
     * Whether a backfill waits for the stream. How long the API keeps a day is only a setting, so these days are
     * requested even when they look too old; the live priority would end them without a request.
     */
    awaits: (stream: Stream): boolean => awaited.size > 0 && awaited.has(streamKey(stream)),
    /** The queued streams of a route in running backfills. A stream in several has the read request of the oldest one. */
    of: (route: string) => byRoute.get(route) ?? [],
  }
}
