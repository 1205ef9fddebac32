import type { DayView } from '../status/day.ts'
import type { MapView } from '../status/map.ts'
import type { DayQuery, MapQuery } from '../status/queries.ts'

export interface Reply {
  readonly status: number
  readonly type: string
  /** Parts of a long one are sent as they are made, no faster than the client reads them. */
  readonly body: string | Iterable<string> | AsyncIterable<string>
  readonly headers?: Readonly<Record<string, string>>
}

/** What the status page shows; undefined for a zone, sink or day that is not known. */
export interface PageViews {
  map(query: MapQuery): Promise<MapView>
  day(query: DayQuery): Promise<DayView | undefined>
}

export interface Route {
  /** Answers without a token, for probes and the files of the page. */
  readonly open: boolean
  /** Answers with text from events and from destinations, such as a refusal that quotes a field. */
  readonly quotes?: true
  answer(parameters: URLSearchParams, access: Access): Promise<Reply> | Reply
}

/**
 * What a client may see: all, since it sent the token, or since none is configured; nothing, since it did not send the
 * token; or, without a token, since it names this host by a name that another web site could have pointed at it.
 */
export type Access = 'token' | 'free' | 'no token' | 'host name'
