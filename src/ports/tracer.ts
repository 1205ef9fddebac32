import type { SpanFacts, SpanName } from '../domain/span.ts'

/** Makes spans, where somebody records them. Never throws of its own. */
export interface Tracer {
  /**
   * Runs the work inside a span, as a part of whichever span the caller runs in; a thrown Failure becomes its outcome.
   * `note` adds what is known only later.
   */
  span<Result>(
    name: SpanName,
    facts: SpanFacts,
    work: (note: (facts: SpanFacts) => void) => Promise<Result>,
  ): Promise<Result>
}
