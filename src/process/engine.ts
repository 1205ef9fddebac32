import { SinkHolds } from '../assemble/held-sinks.ts'
import { createReading } from '../assemble/api-reading.ts'
import { createShipping } from '../assemble/shipping.ts'
import type { Config } from '../config/schema.ts'
import type { ZoneDirectory } from '../discovery/zone-directory.ts'
import { cancelled } from '../domain/failure.ts'
import { runBeside, type BesideOptions } from './beside.ts'
import { createObserving, type ObservingOptions } from './observing.ts'
import { createStreamSchedule, type ScheduleOptions } from './schedule.ts'

export type Engine = ReturnType<typeof createEngine>

interface EngineOptions extends ScheduleOptions, ObservingOptions, BesideOptions {
  /** Where accounts discover their zones, these change while the engine runs. */
  readonly directory: Pick<ZoneDirectory, 'fill' | 'read'>
}

/** Schedules and ships the streams of one configuration, over one store: brings the parts together that do it. */
export function createEngine(config: Config, options: EngineOptions) {
  const { runtime, backend, directory } = options
  const holds = new SinkHolds(config, backend.store, runtime)
  /** Closed in reverse order. */
  const parts = new AsyncDisposableStack()
  const reading = parts.use(createReading(config, runtime, backend.limitsOf))
  const zones = () => directory.fill(config).zones
  const shipping = parts.use(
    createShipping(config, runtime, { ...backend, reading, zones, held: () => holds.held }),
  )
  const streams = parts.use(createStreamSchedule(config, shipping, holds, options))
  const observing = createObserving(config, shipping, streams, options)
  const { observe, status, problems, views } = observing
  const stopped = new AbortController()
  let beside: Promise<void> | undefined
  parts.defer(() => beside)
  parts.defer(() => stopped.abort(cancelled()))
  return {
    shipping,
    drain: streams.drain,
    /** Sinks to which nothing may be shipped now. Throws the Failures of a store. */
    async held() {
      await holds.refresh()
      return [...holds.held.keys()]
    },
    observe,
    status,
    /** What the status page shows. */
    views,
    /** Starts the schedule, and what runs beside it. */
    start(): void {
      const { signal } = stopped
      streams.start()
      beside = runBeside(config, shipping, problems, options, signal)
      // Nothing waits for its end: a store that hangs must not delay the stop.
      void observing.start(signal)
    },
    /** Stops the schedule, then closes sinks and clients. Idempotent. */
    close: () => parts.disposeAsync(),
  }
}
