import type { FailureCode } from './failure.ts'
import type { Priority, Stream } from './stream.ts'

export type SpanName = 'pump' | 'fetch' | 'deliver' | 'commit'

/** All that a span may hold. Spans go to another party: no cursor, event id, path or client address. */
export interface SpanFacts extends Partial<Stream> {
  readonly priority?: Priority
  /** URL that the step requests or delivers to; the span holds its host and port, never its path. */
  readonly server?: string
  readonly events?: number
  /** How long a page that was fetched ahead waited until the pump took it, ms. */
  readonly unwantedMs?: number
  /** The failure that the work ended with without throwing it. */
  readonly outcome?: FailureCode
}
