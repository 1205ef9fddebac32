import { systemClock } from '../clock.ts'
import { flushSpans as flush } from '../telemetry/flush-spans.ts'

/** Sends the buffered spans; takes `longestMs` at most, and never throws. */
export function flushSpans(longestMs: number): Promise<void> {
  return flush(longestMs, systemClock)
}
