import type { Writable } from 'node:stream'
import type { Format } from '../ports/delivery.ts'
import type { Clock, Telemetry } from '../ports/process.ts'

/** What sinks are made with; each takes a part of it. */
export interface SinkDeps {
  readonly format: Format
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** Version of shieldlog, for the User-Agent. */
  readonly version: string
  /** Where the stdout sink writes. */
  readonly output: Writable
  /** Returns [0, 1), for the jitter of waits. */
  readonly random?: () => number
}
