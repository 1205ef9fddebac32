import type { Day } from './day.ts'
import type { FailureCode } from './failure.ts'
import type { Priority } from './stream.ts'

/** A step of the work that a trace shows. */
export type SpanName = 'pump' | 'fetch' | 'deliver' | 'commit'

/** All that a span may tell. Spans go to another party: no cursor, no id of an event, no path, no address of a client. */
export interface SpanFacts {
  readonly zone?: number
  readonly day?: Day
  readonly sink?: string
  readonly priority?: Priority
  /** Where the step asks or delivers to: a URL, of which the span tells host and port; a path is not told. */
  readonly server?: string
  /** How many events the step was about. */
  readonly events?: number
  /** For how long a page that was fetched ahead lay unwanted, ms. */
  readonly unwantedMs?: number
  /** The failure that the work ended with without throwing it. */
  readonly outcome?: FailureCode
}
