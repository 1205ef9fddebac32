import type { SpanFacts, SpanName } from '../domain/span.ts'

/** Makes spans, where tracing is on. Throws only what the work throws. */
export interface Tracer {
  /**
   * Runs the work inside a span, a child of the span that the caller runs in; a thrown Failure becomes its outcome.
   * `note` adds facts that are known only later.
   */
  span<Result>(
    name: SpanName,
    facts: SpanFacts,
    work: (note: (facts: SpanFacts) => void) => Promise<Result>,
  ): Promise<Result>
}

/** Names of trace headers and their values. */
export type TraceCarrier = Readonly<Record<string, string>>
